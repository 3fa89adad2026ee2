"""The shape of the document of `ddlsim record --output json`."""

from typing import TypedDict

from ddlsim.cli.documents.shapes import Checked


class Record(TypedDict):
    """What was recorded, and how it is judged.

    `says` is the level of isolation as the database tells it, `promise` the model that its
    documentation promises for the level. `changes` counts committed transactions with DDL, `why`
    the classes of errors of the others, `silent` clients that did not come to an end in time;
    `notes` tell of clients that never had a connection. `check` is the element of `files` of
    `check --output json`, null where nothing was judged.
    """

    format: int
    command: str
    directory: str
    database: str
    server: str
    driver: str
    isolation: str
    says: str
    promise: str
    workload: str
    seed: int
    clients: int
    committed: int
    failed: int
    unknown: int
    changes: int
    why: dict[str, int]
    seconds: float
    silent: int
    notes: list[str]
    check: Checked | None
