"""Processes that forget which schema a client has seen."""

from ddlsim.layer.rules import fences
from ddlsim.mutants.base import mutant

POST = "Your clients can always send the most recent version of the schema that it knows about"

mutant(
    "hands_tokens_back",
    POST,
    "session_schema",
    summary="an answer has the token of its request, not that of the schema that was used",
    under="c4_fetch",
    token=fences.as_asked,
)
mutant(
    "serves_with_older_schemas",
    POST,
    "session_schema",
    summary="a process neither waits for the schema that a client has seen, nor reads it",
    under="c4_fetch",
    admit=fences.always,
)
