"""Documents and files against the published JSON Schemas."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from ddlsim.cli.documents import schemas

OPEN = ("Entry",)
"""Shapes that say of themselves that they have further keys."""


@cache
def validator(name: str) -> Draft202012Validator:
    """The schema of this name, its documents closed: a key that it does not know is an error."""
    found = schemas.schema(name)
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(closed(found))


def closed(found: Any) -> Any:
    if isinstance(found, list):
        return [closed(each) for each in found]
    if not isinstance(found, dict):
        return found
    more = {} if found.get("title") in OPEN else {"additionalProperties": False}
    more = more if "properties" in found and "type" in found else {}
    return {**more, **{key: closed(each) for key, each in found.items()}}


def wrong(name: str, document: Any) -> list[str]:
    return [f"{e.json_path}: {e.message[:200]}" for e in validator(name).iter_errors(document)]
