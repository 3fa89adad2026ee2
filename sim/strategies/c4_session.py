"""A client sends the newest schema version that it has seen.

"If the server doesn't have that version yet, it waits until it does to handle the query (or goes
and fetches the schema, or returns a retryable error)." So one session's view does not go back, and
has what its own statements made (I13); two sessions may see different schemas at a time.
"""

from dataclasses import replace
from typing import Final

from ddlsim.layer.rules import fences
from ddlsim.strategies.base import EVENTUAL, claims, layer_design, layer_header
from ddlsim.strategies.c2_watch import C2_WATCH

POST = "consistency within a session"
PROMISED: Final = (*EVENTUAL, *claims("I13"))

C4_SESSION = layer_design(
    replace(
        C2_WATCH,
        header=layer_header(
            "c4_session", "waits for the schema that the client has seen", POST, PROMISED
        ),
        admit=fences.token_awaited,
        token=fences.schema_used,
    )
)
C4_FETCH = layer_design(
    replace(
        C4_SESSION,
        header=layer_header(
            "c4_fetch", "reads the schema that the client has seen", POST, PROMISED
        ),
        admit=fences.token_fetched,
    )
)
C4_RETRY = layer_design(
    replace(
        C4_SESSION,
        header=layer_header(
            "c4_retry", "refuses a client that has seen a newer schema", POST, PROMISED
        ),
        admit=fences.token_refused,
    )
)
