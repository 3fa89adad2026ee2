"""The entries of `ddlsim list --output json`, list by list: keys, types and meaning."""

from typing import Final, Literal, TypedDict

from ddlsim.checkers.base import Severity
from ddlsim.cli.documents.shapes import Expected


class Listed(TypedDict):
    """An entry of a list that has no further keys: probes, terms, schemas."""

    name: str
    summary: str
    source: str


class ListedScenario(Listed):
    """A shipped scenario: the outcome that it expects, and the clauses that it shows."""

    expect: Expected
    clauses: list[str]


class ListedStrategy(Listed):
    """A design: its data plane, and by claimed invariant what the claim assumes."""

    plane: str
    claims: dict[str, list[str]]


class ListedFault(Listed):
    """A kind of fault, and the verb that has it: `run` (of scenarios) or `record`."""

    verb: Literal["run", "record"]


class ListedWorkload(ListedFault):
    """A kind of workload: by data plane, the keys that mean nothing there, with the reason."""

    cannot: dict[str, dict[str, str]]


class ListedMutant(Listed):
    """A broken rule: its clause, what else does not hold, and the checker that convicts it.

    On the FoundationDB plane `breaks` is a sentence of the thread or of the store's documents, and
    `under` the design whose rule it is; empty for a rule of the store.
    """

    plane: str
    breaks: str
    also: list[str]
    under: str
    caught_by: str


ListedChecker = TypedDict(
    "ListedChecker",
    {"name": str, "summary": str, "source": str, "invariant": str, "class": Severity},
)


class ListedClause(Listed):
    """A clause of the documents, or a point at which a scenario can pause a task."""

    kind: Literal["clause", "pause point"]
    must: bool


class ListedFinding(Listed):
    """A hole in the documents: the invariants that it breaks, and the scenario that shows it.

    `strategies` have it, `closing` are the fields of a design that close it, with their rules.
    """

    breaks: list[str]
    clauses: list[str]
    scenario: str
    closing: dict[str, str]
    strategies: list[str]


class ListedReason(Listed):
    """Why a transaction aborts: whether a retry may help, and whether it is a schema abort."""

    retriable: bool
    schema: bool


class ListedMoment(Listed):
    """Something at which a fault can begin or heal: its fields, and the roles that it binds."""

    kind: Literal["probe", "event", "point", "sent", "delivered"]
    fields: list[str]
    roles: list[str]


class ListedRule(Listed):
    """A value of a field of a design; `rule` is null for a field that takes a whole number."""

    field: str
    rule: str | None
    default: bool


class ListedConstant(TypedDict):
    """A bound or a duration of a scope: what it is, its default, the least and the most of it."""

    text: str
    default: int
    least: int
    most: int


ListedScope = TypedDict(
    "ListedScope",
    {
        "name": str,
        "summary": str,
        "source": str,
        "invariants": list[str],
        "constants": dict[str, ListedConstant],
        "rules": dict[str, dict[str, str]],
        "clauses": dict[str, str],
        "designs": dict[str, dict[str, str]],
        "mutants": dict[str, dict[str, str]],
        "with": dict[str, dict[str, int]],
        "breaks": dict[str, list[str]],
    },
)
"""A scope: its constants, the choices of its rules, those of `iep` first, and their clauses.

`designs` and `mutants` have the choices in which they differ; `with` are the constants that they
take, and `breaks` the invariants that they break then.
"""


class ListedSetting(Listed):
    """A setting of `[protocol]` or `[fdb]`: its bounds, and its default or what it follows from."""

    unit: str | None
    default: int | bool | None
    follows: str | None
    least: int | None
    most: int | None
    per_node: bool
    presets: dict[str, int]
    clauses: list[str]


class ListedFigure(Listed):
    """A figure: the axes that it needs of a sweep, and the keys that these vary."""

    needs: list[str]
    paths: list[str]


LISTED: Final[dict[str, type]] = {
    "scenarios": ListedScenario,
    "strategies": ListedStrategy,
    "mutants": ListedMutant,
    "faults": ListedFault,
    "workloads": ListedWorkload,
    "checkers": ListedChecker,
    "clauses": ListedClause,
    "findings": ListedFinding,
    "reasons": ListedReason,
    "probes": Listed,
    "moments": ListedMoment,
    "rules": ListedRule,
    "scopes": ListedScope,
    "settings": ListedSetting,
    "figures": ListedFigure,
    "terms": Listed,
    "schemas": Listed,
}
"""The shape of the entries of each list."""
