"""From a few facts about a system to the designs that fit it, and why the others do not.

What a design needs follows from its header, the plane on which it runs, the invariants that it
claims, and what each claim assumes, and from its rules: the features that its store must have.
Nothing here names a design. The goals are compared with the table of `compare`. Its scenarios have
more DDL than a system may have: what the system's own rate makes of the schema aborts follows by
the closed form 6.3, whose exponent is proportional to the rate.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta

from ddlsim.analysis.compare.columns import COLUMNS, Column
from ddlsim.analysis.compare.records import SAFETY, UNMET, UNTESTED, Line
from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.checkers.base import in_order
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.switches import FEATURES, SHIPPED, features_of, locks_tables
from ddlsim.model.design import (
    DELAY_BOUNDED,
    ELECTIONS_SLOW,
    LEASES_HOLD,
    RATES_BOUNDED,
    SKEW_BOUNDED,
    DesignHeader,
)
from ddlsim.protocol.strategy import Strategy
from ddlsim.scenario.config import Probability, TableRecord
from ddlsim.scenario.files import text_at
from ddlsim.scenario.problems import Origin, ScenarioError, convert, near
from ddlsim.scenario.scenario import parse_toml

KINDS: Final = {"ignite": "locking", "fdb": "optimistic"}
"""How a data plane keeps transactions apart. A design that locks tables is one for locking systems,
too, on whichever plane its model runs: what it asks of rows, locks on rows do as well."""
READERS: Final = {"ignite": (0, 1), "fdb": (0,)}
"""The workloads of a plane's scenario of comparisons of which a share of transactions may only
read: steady clients, and those that cross changes."""
OWN_DDL: Final = "I4"
ENDS: Final = "I9"
"""Operations on healthy nodes end though others cannot be reached."""
RESTS_ON: Final = {
    SKEW_BOUNDED: ("clocks",),
    LEASES_HOLD: ("clocks",),
    ELECTIONS_SLOW: ("clocks",),
    DELAY_BOUNDED: ("delays", "clocks"),
    RATES_BOUNDED: ("rates",),
}
"""The facts that an assumption rests on: the delay is bounded together with the skew."""
BROKEN: Final = ("violation", "stuck")
"""Statuses of a breach of a claim under its assumptions."""
DIGITS: Final = 18
"""Behind the point, at most: as many as a float has."""
Bound = Literal["bounded", "unbounded"]
Above = Annotated[float, Meta(gt=0)]


class SystemTable(TableRecord, frozen=True):
    """`[system]`: how transactions are kept apart, by locks or by conflicts at the commit (both
    ways, where it is left out), what the store
    has that others lack (`FEATURES`; what FoundationDB has, where it is left out), whether the
    difference of clocks, delays, and the rates of clocks (which are good where they are not) have a
    bound, whether every node can always be reached, whether clients must see
    their own DDL at once, and the invariants that are needed."""

    concurrency: Literal["locking", "optimistic"] | None = None
    store_has: tuple[str, ...] = SHIPPED
    clocks: Bound = "bounded"
    delays: Bound = "unbounded"
    rates: Bound = "bounded"
    all_reachable: bool = False
    own_ddl: bool = True
    invariants: tuple[str, ...] = SAFETY


class LoadTable(TableRecord, frozen=True):
    """`[load]`: statements that change the schema, per second, and the share of transactions that
    only read."""

    ddl_per_s: Annotated[float, Meta(gt=0, le=1_000)] | None = None
    read_only: Probability | None = None


class GoalTable(TableRecord, frozen=True):
    """`[goals]`: 99th percentiles in ms, and the share of attempts that a schema change aborts."""

    dml_p99_ms: Above | None = None
    ddl_p99_ms: Above | None = None
    schema_aborts: Probability | None = None


class AdviceTable(TableRecord, frozen=True):
    """The whole file."""

    system: SystemTable = SystemTable()
    load: LoadTable = LoadTable()
    goals: GoalTable = GoalTable()


class Goal(NamedTuple):
    """A goal: the key in the file, and the number of the table that it bounds."""

    key: str
    number: str


ABORTS: Final = "schema_aborts"
GOALS: Final = (
    Goal("dml_p99_ms", "dml_p99"),
    Goal("ddl_p99_ms", "ddl_p99"),
    Goal("schema_aborts", ABORTS),
)


# --- the file ------------------------------------------------------------------------------------


def read(path: str) -> AdviceTable:
    """The facts in a file, one at least; raises `ScenarioError`, whose message is one line."""
    text = text_at(path, path, "; name a file of facts")
    if not parse_toml(text, path):
        what = "no fact stands in it; give [system], [load] or [goals]"
        raise ScenarioError(f"{path}: {what}")
    return parsed(text, path)


def parsed(text: str, name: str) -> AdviceTable:
    """The facts in a text."""
    data = parse_toml(text, name)
    origin = Origin(name, text)
    table: AdviceTable = convert(data, AdviceTable, origin)
    for key, kind, known in (
        ("invariants", "invariant", invariants()),
        ("store_has", "feature of a store", list(FEATURES)),
    ):
        for index, given in enumerate(getattr(table.system, key)):
            if given not in known:
                what = f"no {kind} is called {given!r}; {near(given, known)}"
                raise origin.error(("system", key, index), what)
    return table


def invariants() -> list[str]:
    """The invariants that may be needed."""
    return list(dict.fromkeys(checker.invariant for checker in in_order()))


def settings_of(load: LoadTable, plane: str) -> dict[str, Any]:
    """What the load sets in the shipped scenario of comparisons of a plane."""
    found: dict[str, Any] = {}
    if load.ddl_per_s is not None:
        found["migration[0].every_ms"] = max(round(1_000 / load.ddl_per_s), 1)
    if load.read_only is not None:
        found |= {f"workload[{one}].read_only": load.read_only for one in READERS.get(plane, ())}
    return found


# --- what fits -----------------------------------------------------------------------------------


Design = Strategy | LayerDesign


def unfit(
    header: DesignHeader, system: SystemTable, needs: Sequence[str] = (), *, locks: bool = False
) -> list[str]:
    """Why a design does not fit, by what its header says, what its store needs, and whether it
    locks tables; empty where it may."""
    kind = KINDS[header.plane]
    fitting = {kind, "locking"} if locks else {kind}
    if system.concurrency is not None and system.concurrency not in fitting:
        unlocked = ", and it locks no table" if system.concurrency == "locking" else ""
        told = f"transactions of plane {header.plane} are {kind}{unlocked}"
        return [f"{told}; {system.concurrency} is asked for"]
    found = [
        f"its store needs {name}, {FEATURES[name]}"
        for name in needs
        if name not in system.store_has
    ]
    claims = {claim.invariant: claim for claim in header.claims}
    unclaimed = [one for one in needed(system) if one not in claims]
    found += [f"it does not claim {', '.join(unclaimed)}"] if unclaimed else []
    resting: dict[str, list[str]] = {}
    for invariant in needed(system):
        for assumption in claims[invariant].assumes if invariant in claims else ():
            facts = RESTS_ON.get(assumption, ())
            loose = [fact for fact in facts if getattr(system, fact) == "unbounded"]
            if loose or not facts:
                why = f"{' and '.join(loose)} have no bound" if loose else "no fact here ensures it"
                resting.setdefault(f"{assumption}, and {why}", []).append(invariant)
    return found + [
        f"for {', '.join(dict.fromkeys(of))} it assumes {why}" for why, of in resting.items()
    ]


def needed(system: SystemTable) -> list[str]:
    """The invariants that a system needs."""
    own, ends = [OWN_DDL] * system.own_ddl, [ENDS] * (not system.all_reachable)
    return list(dict.fromkeys([*system.invariants, *own, *ends]))


def missed(
    line: Line, system: SystemTable, goals: GoalTable, load: LoadTable | None = None
) -> list[str]:
    """Why a design that may fit does not, by its line of the table.

    A broken claim counts, needed or not. What is not claimed counts where it is needed; what broke
    out of assumption does not, since the facts ensure what the needed claims assume.
    """
    found = []
    against = [
        one.invariant
        for one in line.breaches
        if one.status in BROKEN or (one.status == "accepted" and one.invariant in needed(system))
    ]
    if against or line.verdict == "not judged":
        what = f"the table shows that it breaks {', '.join(against)}" if against else "no run ended"
        found.append(f"{line.verdict}: {what}")
    if not found and not line.changes_met.value:  # whatever the verdict is by shipped scenarios
        found.append(f"{UNTESTED}: {UNMET}, so the table does not show that it is safe")
    return found + _beyond(line, goals, load or LoadTable())


def _beyond(line: Line, goals: GoalTable, load: LoadTable) -> list[str]:
    """The goals that a design misses, or of which its line has no number."""
    columns = {column.key: column for column in COLUMNS}
    found = []
    for goal in GOALS:
        most = getattr(goals, goal.key)
        column = columns[goal.number]
        value = column.of(line)
        if most is None:
            continue
        if value.value is None:
            found.append(f"{column.head}: {value.why}; {goal.key} cannot be judged")
            continue
        number, at = value.value, ""
        if goal.number == ABORTS and load.ddl_per_s is not None and line.ddl_per_s is not None:
            number = float(forms.at_rate(number, line.ddl_per_s, load.ddl_per_s))
            at = f" at {load.ddl_per_s:g} statements per second (by 6.3, from {line.ddl_per_s:g})"
        if number > most:
            shown, limit = _apart(column, number, most)
            found.append(f"{column.head} is {shown}{at}, more than {limit}")
    return found


def _apart(column: Column, number: float, most: float) -> tuple[str, str]:
    """Two numbers of a column with their unit and so many digits that they differ, and neither is
    shown as 0 that is not."""
    one, other = column.figure(number), column.figure(most)
    for digits in range(3, DIGITS):
        if one != other and (not most or other.strip("0.")):
            break
        one, other = (f"{each * column.scale:.{digits}f}" for each in (number, most))
    return f"{one} {column.unit}".strip(), f"{other} {column.unit}".strip()


class Split(NamedTuple):
    """The designs that may fit by what they claim and need, and why each of the others does not."""

    fitting: list[str]
    others: dict[str, list[str]]


def split(designs: Sequence[Design], system: SystemTable) -> Split:
    """Sort designs by what their headers say, and by what their stores need."""
    others = {one.name: why for one in designs if (why := _unfit(one, system))}
    return Split([one.name for one in designs if one.name not in others], others)


def _unfit(design: Design, system: SystemTable) -> list[str]:
    if not isinstance(design, LayerDesign):
        return unfit(design.header, system)
    return unfit(design.header, system, features_of(design), locks=locks_tables(design))
