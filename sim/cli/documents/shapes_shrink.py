"""The document of `ddlsim shrink --output json`, key by key."""

from typing import Literal, TypedDict

from ddlsim.shrink.size import Counts


class SignatureText(TypedDict):
    """What makes violations the same: a short name, and all of it in one line."""

    id: str
    text: str


class Shrink(TypedDict):
    """A shrunk scenario. `status` is that of its violation, `drawn` how many things the seed still
    draws in it, `ended` why shrinking ended, `helped` how many candidates of each pass were kept,
    `file` the file that holds the `scenario`, `command` the one that repeats it there."""

    format: int
    signature: SignatureText
    status: str
    before: Counts
    after: Counts
    drawn: int
    ended: Literal["done", "runs", "time", "interrupted"]
    runs: int
    helped: dict[str, int]
    file: str | None
    command: str
    scenario: str
