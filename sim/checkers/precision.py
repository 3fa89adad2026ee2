"""I11: no transaction is aborted without need, and nothing waits longer than its rule asks.

[110.req.0] [110.quirk]
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from msgspec.structs import replace

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.enlistments import COORDINATOR_RETRY
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.checkers.forward_compatible import first_incompatible
from ddlsim.checkers.needless import layered_grounds
from ddlsim.checkers.needless.ddl_grounds import refused_statements
from ddlsim.checkers.needless.grounds import GROUNDS, Grounds
from ddlsim.checkers.needless.index_grounds import begins_build, of_indexes_alone, undrained
from ddlsim.checkers.needless.needless import Needless
from ddlsim.checkers.needless.row_grounds import bad_rows
from ddlsim.checkers.needless.silence import given_up_early
from ddlsim.checkers.needless.stays import needless_stays
from ddlsim.checkers.needless.waits import needless_waits
from ddlsim.checkers.spec.spec import harmless_to_older, leaves_rows_alone
from ddlsim.history.events import Enlisted, Failed, SchemaResolved, TxAborted, TxBegan
from ddlsim.model.ops import WHOLE
from ddlsim.model.reasons import Reason
from ddlsim.units import Timestamp, physical_ms, show

QUIRK: Final = "quirk"
ATTEMPTS: Final = 10
"""How often an implicit transaction is tried."""
AFTER_RESTART: Final = re.compile(r"(.+)~\d+")
"""The name of an operation's implicit transaction that a restarted node has begun anew."""
ALLOWED_BY: Final = {
    "by_change_type": harmless_to_older,
    "by_table_version": leaves_rows_alone,
}
"""The rules for newer rows that go by the changes alone."""
EXACT_IF_SHOWN: Final = (
    "schema_at_commit_ts_exact_if_shown",
    "schema_at_commit_ts_exact_if_written",
)
"""The rules at commit that close finding F-1: no change of a table whose columns were shown."""


class Precision:
    """Every abort is justified by the history: a schema reason by an activation.

    By the complete log and the judges' own rules: an operation was refused because the table's
    schema at its op_ts was another than the enlisted one; a commit because some step from I to the
    schema at commit_ts is not forward-compatible, or a query had shown that there was a change and
    the design, as declared, has a rule that closes finding F-1; a mark because an incompatible
    change had activated; a read because a row of a newer schema was there; a name because nothing
    bore it.

    What justifies the other reasons is in `grounds`: a holder of the lock, the end of a
    lease, a time limit, a fault; in `row_grounds`: a column that is missing, a row that does not
    fit, a key that is taken; in `ddl_grounds`: a statement's name that is missing or taken. Upper
    bounds of waits by the settings of the run are in `needless_waits`, those of waits for locks and
    for safe times of replicas in `needless_stays`. A client gives a request up only once its time
    is over, or its node was down: `silence`. Where SQL is a layer on a store, `layered_grounds` has
    the rules.

    An implicit transaction is aborted for good only after its coordinator has tried it again
    [110.flow.8].

    Where an activation lies between enlist_ts and the op_ts of the first operation on the table,
    the abort was needless, but the rules ask for it [110.quirk]: it is counted and no anomaly, but
    where the design, as declared, enlists such a table again. Any other needless abort is counted
    too, and is one. No other checker sees a design that is safe because it refuses too much.
    """

    name = "precision"
    invariant = "I11"
    severity: Severity = "quality"
    summary = "no transaction is aborted without need, and nothing waits longer than its rule asks"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Each abort, the needless ones counted by their cause; then waits."""
        counts: Counter[str] = Counter()
        grounds = Grounds(case)
        for _, aborted in case.of(TxAborted):
            tx = case.transactions[aborted.tx]
            needless = None if tx.aborted is not aborted else _judged(grounds, tx, aborted)
            if needless is None:
                continue
            counts[needless.cause] += 1
            if needless.cause != QUIRK:
                yield _anomaly(tx, aborted, needless)
        for needless, anomaly in chain(bad_rows(case), refused_statements(case)):
            counts[needless.cause] += 1
            yield anomaly
        if not case.is_layered:  # attempts that read nothing leave no event there
            yield from _attempts(grounds)
        if not (case.is_layered and case.faults):  # a store that recovers answers so at once
            yield from given_up_early(case)
        yield from needless_waits(case)
        yield from needless_stays(grounds)
        case.measures = replace(case.measures, needless_aborts=dict(sorted(counts.items())))


def _judged(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """By the rule of its reason."""
    if grounds.case.is_layered:
        of_layers = layered_grounds.RULES.get(aborted.reason)
        if of_layers is not None:
            return of_layers(grounds.case, tx, aborted)
        if aborted.reason not in layered_grounds.LIKE_ELSEWHERE:
            return None
    rule = _RULES.get(aborted.reason)
    if rule is not None:
        return rule(grounds.case, tx, aborted)
    ground = GROUNDS.get(aborted.reason)
    return None if ground is None else ground(grounds, tx, aborted)


def _anomaly(tx: Transaction, aborted: TxAborted, needless: Needless) -> Anomaly:
    sentence = Reason[aborted.reason].sentence
    enlisted = tuple(event for _, event in tx.enlisted)
    return Anomaly(
        needless.cause,
        f"{tx.name} was aborted on node {aborted.node} with {aborted.reason} ({sentence}), "
        f"but {needless.why}",
        (*enlisted, *(event for _, event in tx.resolved[-1:]), aborted),
        clauses=("110.req.0",),
    )


def _attempts(grounds: Grounds) -> Iterator[Anomaly]:
    """Implicit transactions that ended too early or too late [110.flow.8].

    Their coordinator tries them again, up to `ATTEMPTS` times, where the client could as well, and
    only there. What has taken as long as a transaction may is not tried again: that is judged when
    its operation ends, which may be after the abort, by a mark, and is before the client's answer.
    """
    case, limit_us = grounds.case, grounds.limit_us("tx_timeout_ms")
    begun = {event.tx: event for _, event in case.of(TxBegan) if event.implicit}
    aborts = {event.tx: event for _, event in case.of(TxAborted)}
    last_life = {met[1]: tx for tx in begun if (met := AFTER_RESTART.fullmatch(tx))}
    for _, failed in case.of(Failed):
        op = last_life.get(failed.op, failed.op)
        first, number = begun.get(op), 1
        if first is None:
            continue
        while f"{op}r{number}" in begun:
            number += 1
        aborted = aborts.get(op if number == 1 else f"{op}r{number - 1}")
        if aborted is None or aborted.reason != failed.reason or number >= ATTEMPTS:
            continue
        reason = Reason[failed.reason]
        in_time = not limit_us or failed.at_us - first.at_us < limit_us
        if in_time and reason.retriable:
            yield Anomaly(
                "not-tried-again",
                f"the implicit transaction {failed.op} failed with {failed.reason} "
                f"({reason.sentence}) at attempt {number}, and its coordinator tried no other",
                (first, failed),
                clauses=("110.flow.8",),
            )
    for name, again in begun.items():
        op, _, digits = name.rpartition("r")
        if op in begun and digits.isdigit():
            before = aborts.get(op if digits == "1" else f"{op}r{int(digits) - 1}")
            if int(digits) >= ATTEMPTS or (before and not Reason[before.reason].retriable):
                yield Anomaly(
                    "tried-too-often",
                    f"the implicit transaction {op} was tried again as {name}"
                    + (f", behind {before.reason}" if before else ""),
                    (again,),
                    clauses=("110.flow.8",),
                )


def _looked_up(tx: Transaction, *purposes: str) -> Iterator[SchemaResolved]:
    """What the transaction's nodes had looked up before it was aborted, the latest first."""
    for position, resolved in reversed(tx.resolved):
        if position < tx.aborted_at and resolved.purpose in purposes:
            yield resolved


def _enlisted_again(tx: Transaction) -> Iterator[tuple[SchemaResolved, int]]:
    """Look-ups of what was enlisted before, with its version then, the latest first."""
    for position, resolved in reversed(tx.resolved):
        if position >= tx.aborted_at or resolved.purpose != "enlist":
            continue
        known = [
            enlisted.version
            for at, enlisted in tx.enlisted
            if at < position and enlisted.object_id == resolved.object_id
        ]
        if known:
            yield resolved, known[-1]


# --- the reasons ---------------------------------------------------------------------------------


def _had_run(tx: Transaction, resolved: SchemaResolved) -> bool:
    """Whether an operation had run on what was looked up, or through it, if that is a view."""
    if any(use.object_id == resolved.object_id for use in tx.uses()):
        return True
    ran = {access.op for access in tx.accesses}
    return any(
        earlier.object_id == resolved.object_id and earlier.op in ran
        for _, earlier in tx.resolved
        if earlier.purpose in AT_THE_PRIMARY and earlier.op != resolved.op
    )


def _changed(case: Case, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """An operation at op_ts: some table's version then was another than the enlisted one.

    Or the table was missing where it was looked up again at an enlistment (option 1).
    """
    initial = {event.object_id: event for _, event in tx.enlisted}
    for resolved in _looked_up(tx, *AT_THE_PRIMARY):
        enlisted = initial.get(resolved.object_id)
        if enlisted is None:
            continue
        version, enlist_ts = _asked_under(tx, resolved, enlisted)
        due = case.schemas.effective(resolved.object_id, resolved.ts)
        if due is None or due.version == version:
            continue
        straddled = enlist_ts < due.activation_ts <= resolved.ts
        if straddled and not _had_run(tx, resolved):
            unused = f"no operation had run under version {version} yet"
            again = aborted.reason == "SCHEMA_CHANGED" and _enlists_again(case, tx, resolved)
            return Needless("not-enlisted-again" if again else QUIRK, unused)
        steps = case.schemas.steps_at(enlisted.object_id, version, resolved.ts)
        if _has_states(case) and of_indexes_alone(steps):
            return undrained(case, aborted)
        return None
    if aborted.reason == "TABLE_DROPPED" and any(
        case.schemas.existing(looked_up.object_id, looked_up.ts) is None
        for looked_up, _ in _enlisted_again(tx)
    ):
        return None
    return Needless(
        "nothing-changed", "no table that it had enlisted changed up to any of its operations"
    )


def _asked_under(tx: Transaction, resolved: SchemaResolved, enlisted: Enlisted) -> tuple[int, int]:
    """The version of a table that a request named, and as of when.

    That of the last look-up of its own operation, if it was older: another operation under way has
    gone on to a later version since (option 1).
    """
    about = (resolved.op, resolved.object_id)
    own = next((one for one in _looked_up(tx, "enlist") if (one.op, one.object_id) == about), None)
    if own is not None and 0 < own.version < enlisted.version:
        return own.version, own.ts
    return enlisted.version, enlisted.enlist_ts


def _enlists_again(case: Case, tx: Transaction, resolved: SchemaResolved) -> bool:
    """Whether the design has the coordinator enlist the table again, and it ought to have done so.

    It does for an explicit transaction of which no other operation is under way, nor its commit:
    none that its client gave up on, either. A scan or find may be refused for another reason, too,
    in another partition.
    """
    if case.header.design.rules.get("enlists_again") != COORDINATOR_RETRY or tx.implicit:
        return False
    refused = case.operations.get(resolved.op or "")
    if refused is None or refused.invoked is None or refused.invoked.kind in WHOLE:
        return False
    others = (one for op in tx.ops if (one := case.operations.get(op)) and one is not refused)
    return all(
        one.invoked_at is None
        or one.invoked_at > tx.aborted_at
        or (one.answered_at is not None and one.answered_at < (refused.invoked_at or 0))
        for one in others
    )


def _has_states(case: Case) -> bool:
    """Whether indexes go through states on the Ignite plane."""
    return case.keeps_entries and not case.is_layered


def _incompatible(case: Case, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """A commit at commit_ts, or an operation under option 1: some step from I is incompatible.

    Or there to be noticed, if the design asks for that; or an index that I has not began to be
    built.
    """
    exact_if_shown = case.header.design.rules.get("commit_schema") in EXACT_IF_SHOWN
    latest = next(_looked_up(tx, "commit"), None)
    if latest is None:
        return _incompatible_at_enlistment(case, tx)
    for _, enlisted in tx.enlisted:
        due = case.schemas.effective(enlisted.object_id, latest.ts)
        if due is None or due.version == enlisted.version:
            continue
        if first_incompatible(case, enlisted.object_id, enlisted.version, latest.ts) is not None:
            return None
        shown = any(query.object_id == enlisted.object_id for _, query in tx.metadata)
        if shown and exact_if_shown:
            return None
        steps = case.schemas.steps_at(enlisted.object_id, enlisted.version, latest.ts)
        if _has_states(case) and begins_build(steps):
            return undrained(case, aborted)
    return Needless(
        "compatible-change",
        f"what it had enlisted is forward-compatible at {show(latest.ts)}",
    )


def _incompatible_at_enlistment(case: Case, tx: Transaction) -> Needless | None:
    """Where an operation looks up again what is enlisted (option 1): some step is incompatible."""
    asked: Needless | None = None
    for looked_up, version in _enlisted_again(tx):
        object_id, ts = looked_up.object_id, looked_up.ts
        if first_incompatible(case, object_id, version, ts) is not None:
            return None
        asked = asked or Needless(
            "compatible-change", f"what an operation met is forward-compatible at {show(ts)}"
        )
    return asked or Needless("not-validated", "it had not come to its commit")


def _marked(case: Case, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """Rollback-only: an incompatible change of an enlisted table had activated [110.valid.3].

    A read-only transaction never commits behind it, and goes on. No hybrid clock is ahead of the
    furthest that any physical clock ever was.
    """
    if tx.read_ts is not None:
        return Needless("reader-marked", "it is read-only, so no change can invalidate its commit")
    earliest: int | None = None
    for _, enlisted in tx.enlisted:
        found = first_incompatible(case, enlisted.object_id, enlisted.version, None)
        if found is not None:
            activation_ts = found[0].activation_ts
            earliest = activation_ts if earliest is None else min(earliest, activation_ts)
    if earliest is None:
        return Needless("compatible-change", "no change of what it had enlisted is incompatible")
    shown_ms = case.once(Clocks).furthest_ms(aborted.at_us)
    if shown_ms < physical_ms(Timestamp(earliest)):
        return Needless(
            "marked-too-early",
            f"the change is not active before {show(earliest)}, and no clock showed "
            f"more than {shown_ms} ms",
        )
    return None


def _newer_row(case: Case, tx: Transaction, __: TxAborted) -> Needless | None:
    """A row of a newer schema was there, and the design's rule does not let it be read."""
    allows = ALLOWED_BY.get(case.header.design.backward)
    harmless = False
    for _, enlisted in tx.enlisted:
        for version in case.versions_written.get(enlisted.object_id, ()):
            if version <= enlisted.version:
                continue
            steps = case.schemas.steps(enlisted.object_id, enlisted.version, version)
            changes = [change for step in steps for change in step.changes]
            harmless = allows is not None and allows(changes)
            if not harmless:
                return None
    if harmless:
        return Needless("harmless-row", "the design allows every newer row that was there")
    return Needless("no-newer-row", "no row of a newer schema had been written")


def _no_such_name(case: Case, tx: Transaction, __: TxAborted) -> Needless | None:
    """Nothing of this name at the timestamp of an enlistment, or a view of what is gone.

    Operations under way at once look up several names, and one that is missing is enough.
    """
    exists: Needless | None = None
    for looked_up in _looked_up(tx, "enlist"):
        name, ts = looked_up.name, looked_up.ts
        if name is None or all(one.kind != "table" for one in case.schemas.relations(name, ts)):
            return None
        exists = exists or Needless("name-exists", f"there was a table {name!r} at {show(ts)}")
    return exists


_RULES: Final[dict[str, Callable[[Case, Transaction, TxAborted], Needless | None]]] = {
    "TABLE_NOT_FOUND": _no_such_name,
    "TABLE_DROPPED": _changed,
    "SCHEMA_CHANGED": _changed,
    "SCHEMA_INCOMPATIBLE": _incompatible,
    "NEWER_ROW_VERSION": _newer_row,
    "ROLLBACK_ONLY": _marked,
}
CHECKERS.add("precision", Precision())
