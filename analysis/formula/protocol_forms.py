"""Which closed form is a design's of the Ignite plane, by its rules: waits (6.1, 6.7), statements
(6.2), aborts (6.3), and from where on nodes disagree (6.5).

Nothing here names a design: what its rules are decides. `compare`, `tune` and the figures all ask
here. A rule that a form does not know, one from outside included, means that there is no form.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from math import expm1
from typing import Final, NamedTuple

Rules = Mapping[str, str]

# --- 6.1, 6.5, 6.7: look-ups ---------------------------------------------------------------------

AT_TOP: Final = "wait_then_look_up"
"""The rule of `resolve_schema` that waits for safe time and looks up at Top."""
NEWEST: Final = "what_is_known"
"""The one that takes what has arrived, whatever Top is."""
UNAWAITED: Final = "never_waits"
"""The rule of `completeness_ts` by which every schema counts as complete."""


def waits_for_safe_time(rules: Rules) -> bool:
    """Whether look-ups wait for safe time alone: A5 to A7, also behind A4's gate."""
    return rules["resolve_schema"] == AT_TOP and rules["completeness_ts"] != UNAWAITED


def never_waits(rules: Rules) -> bool:
    """Whether look-ups wait for nothing: A0 to A2. A barrier (A3) is waited for."""
    return rules["resolve_schema"] == NEWEST or looks_up_at_once(rules)


def looks_up_at_once(rules: Rules) -> bool:
    """Whether they look up at Top without a wait (A1, A2), so that nodes change over by their
    clocks; nodes that take what has arrived send a client back more than once for one change."""
    return rules["resolve_schema"] == AT_TOP and rules["completeness_ts"] == UNAWAITED


# --- 6.2: statements -----------------------------------------------------------------------------

INSTALLS: Final = "replicate_wait_acknowledge"
ONCE_UNUSED: Final = "install_once_unused"
"""The rule of `install` that waits for those that use what is to change, then installs."""
ONE_STEP: Final[Rules] = {"drain": "none", "index_entries": "none"}
"""The rules of designs whose statements are one update each."""


def is_one_update(rules: Rules) -> bool:
    """Whether a statement takes what 6.2 says of A5 to A8 from when it is installed on."""
    known = rules["install"] in (INSTALLS, ONCE_UNUSED)
    return known and all(rules[name] == rule for name, rule in ONE_STEP.items())


def waits_for_users(rules: Rules) -> bool:
    """Whether it waits before that for the transactions that use what it changes (B16)."""
    return rules["install"] == ONCE_UNUSED


# --- 6.3: aborts ---------------------------------------------------------------------------------


class Deadly(Enum):
    """Which changes of a table abort a transaction while it uses the table in some way."""

    NONE = "none"
    INCOMPATIBLE = "incompatible"
    EVERY = "every"


Between = tuple[Deadly, Deadly]
"""The least and the most."""


class Crossing(NamedTuple):
    """What aborts up to the last operation on a table, and from then to the commit.

    `late`: every operation looks up the schema anew (option 1), which may change before it runs.
    `go_on`: operations go on behind a change, and may read newer rows. `rows`: only operations with
    rows are checked. `shipped`: steps are judged by the rules of Apache Ignite 3.
    """

    using: Between
    tail: Between
    late: bool = False
    go_on: bool = False
    rows: bool = False
    shipped: bool = False

    def dies(self, every: float, incompatible: float, again: float) -> float:
        """How many die at most that used the table of a change before it, by the shares of changes;
        `again` of them operate on it once more."""
        shares = {Deadly.NONE: 0.0, Deadly.INCOMPATIBLE: incompatible, Deadly.EVERY: every}
        operating, committing = shares[self.using[1]], shares[self.tail[1]]
        return committing + again * max(operating - committing, 0.0)


ASSUMED: Final[Rules] = {
    "resolve_schema": AT_TOP,
    "lookup_ts": "looked_up_at_operation",
    "install": INSTALLS,
    "rename": "incompatible",
    "primary_initial": "as_enlisted",
    "run_version": "under_initial",
    "check_exists": "must_exist",
    "enlists_again": "client_retry",
    "drain": "none",
    "index_entries": "none",
}
"""What all forms of 6.3 rest on: changes come at any time, look-ups see those at Top, and what
comes between the enlistment and the first operation aborts as well."""
CURRENT: Final = "enlist_what_is_current"
BASES: Final = {
    ("enlist_once", "at_enlistment"),
    ("enlist_once", "at_begin"),
    ("enlist_as_of_begin_or_creation", "at_begin_or_creation"),
    (CURRENT, "at_enlistment"),
}
"""The rules of `enlist` and `base_ts` of which runs tell the base timestamp: the enlistment's or
the begin's. It is that of the event, so both have the form with it."""
SAME: Final = "must_be_same_schema"
SAME_SHIPPED: Final = "same_table_version"
OPTION_3: Final = (SAME, SAME_SHIPPED)
GO_ON: Final = ("go_on", "go_on_if_compatible")
"""Options 1 and 2 and B11: the commit alone judges, or nothing else than it would."""
BY_STEPS: Final = "each_step_forward_compatible"
EXACT: Final = "exact_match"
AS_SHIPPED: Final = "each_step_as_shipped"
WITH_ROWS: Final = "AFTER_LOCKS_WITH_ROWS"
"""The rule of `check_operation_when` under which an operation that finds no row is not checked."""
JUDGED: Final = {
    "schema_at_commit_ts": False,
    "judged_at_finish": False,
    "schema_at_commit_ts_exact_if_written": True,
}
"""Rules of `commit_schema`: whether some tables are judged as by `exact_match`."""
EVERY_COMMIT: Final = "judge_every_commit"


def crossing(rules: Rules) -> Crossing | None:
    """Which changes abort; None where 6.3 is not about the design."""
    if any(rules[name] != rule for name, rule in ASSUMED.items()):
        return None
    tail = _at_commit(rules)
    if tail is None or (rules["enlist"], rules["base_ts"]) not in BASES:
        return None
    shipped = rules["check_commit"] == AS_SHIPPED
    checked = rules["check_operation"]
    if checked in OPTION_3 and (checked == SAME_SHIPPED) == shipped:
        if rules["enlist"] == CURRENT:
            return None if shipped else Crossing(tail, tail, late=True)
        rows = rules["check_operation_when"] == WITH_ROWS
        return Crossing((Deadly.EVERY, Deadly.EVERY), tail, rows=rows, shipped=shipped)
    if checked not in GO_ON or shipped or rules["enlist"] == CURRENT:
        return None
    return Crossing(tail, tail, go_on=True)


def _at_commit(rules: Rules) -> Between | None:
    """What aborts a commit behind the last operation."""
    partly = JUDGED.get(rules["commit_schema"])
    if partly is None or rules["check_commit"] not in (BY_STEPS, EXACT, AS_SHIPPED):
        return None
    if rules["check_commit"] == EXACT:
        return Deadly.EVERY, Deadly.EVERY
    judged = rules["judges_commit"] == EVERY_COMMIT
    least = Deadly.INCOMPATIBLE if judged else Deadly.NONE
    return least, Deadly.EVERY if partly else Deadly.INCOMPATIBLE


class Used(NamedTuple):
    """Of one table: its changes per ms, of all kinds; and for how long transactions used it in all.

    `using` is from the base timestamp to the last operation that is checked, `tail` from the last
    one to the commit, both of those that did not abort for the schema; `outdated` is of those
    that did, to half-way between that operation and their abort. `whole` is of all from the base to
    the last operation of any kind, of aborted ones to their abort.
    """

    every: float
    incompatible: float
    using: float
    tail: float
    outdated: float
    whole: float

    def rate(self, deadly: Deadly) -> float:
        """How often a change comes that is deadly."""
        rates = {Deadly.NONE: 0.0, Deadly.INCOMPATIBLE: self.incompatible}
        return rates.get(deadly, self.every)


def crossed(
    of: Crossing, tables: Sequence[Used], attempts: int, outdated: int
) -> tuple[float, float]:
    """6.3: the share of attempts that a change aborts, `outdated` of which the schema did.

    Changes that come at any time abort lambda for each ms in which there is something to abort, of
    whatever became of it: a lock may have ended it, or a change. The latter came at any time
    between the last operation that was checked and the abort: half-way in the mean, or at the
    abort, where a mark makes it: two ends. With the lengths of those alone that no change has
    aborted, 1 - e^(-lambda E[L]) is a lower end besides, since -ln E[e^(-lambda L)] is at least
    lambda E[L | no change]. Where operations go on behind a change, or look up the schema anew, it
    may be before the last one.
    """
    kept = dead = most = 0.0
    for one in tables:
        kept += one.rate(of.using[0]) * one.using + one.rate(of.tail[0]) * one.tail
        dead += one.rate(of.using[0]) * one.outdated
        most += one.rate(of.using[1]) * one.whole + one.rate(of.tail[1]) * one.tail
    noticed_at_once = not (of.go_on or of.late)
    least = max(
        -expm1(-kept / max(attempts - outdated, 1)),
        (kept + dead * noticed_at_once) / max(attempts, 1),
    )
    most /= max(attempts, 1)
    return min(least, most), min(max(least, most), 1.0)
