"""The shape of the document of `ddlsim hunt --output json`."""

from typing import TypedDict


class SeenShape(TypedDict):
    """A signature with a status, and what it is."""

    id: str
    signature: str
    status: str
    invariant: str
    checker: str
    kind: str
    summary: str


class PerHour(TypedDict):
    """What an hour of CPU time gives at the rate of a hunt."""

    worlds: float
    transactions: float
    features: float
    signatures: float


class HuntShrunk(TypedDict):
    """A shrunk world: its scenario, the page about it, its command, and what happens in it."""

    scenario: str
    page: str
    command: str
    story: list[str]


class HuntFound(SeenShape):
    """A signature with a status: what it is, in how many worlds, and the first of them.

    `first` is that world's number, `cpu_s` what had been spent by then, `seed` the seed of its run.
    """

    worlds: int
    first: int
    cpu_s: float
    seed: int
    file: str
    command: str
    shrunk: HuntShrunk | None


class Hunt(TypedDict):
    """What a hunt came to; `features` is how many were covered, `coverage` how many of each kind.

    `ended` is violation, time, worlds or interrupted; `corpus` counts the worlds that were kept.
    """

    format: int
    strategy: str | None
    mutant: str | None
    seed: int
    outcome: str
    ended: str
    worlds: int
    transactions: int
    features: int
    coverage: dict[str, int]
    corpus: int
    cpu_s: float
    per_cpu_hour: PerHour
    found: list[HuntFound]
    command: str
