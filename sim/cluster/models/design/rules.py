"""The rules of designs a second time, from the clauses, compared at each call.

A pure rule has a form beside it (`rule_forms`), by name: from its arguments the result that the
clause asks for. A run seldom meets the arguments at which a comparison turns, such as a commit_ts
that is the end of the lease: the first calls are repeated with arguments that lie side by side. A
flow is compared where it ends: with what the node knows then, and when it ended. A design may have
rules that are not here; they are not compared.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from ddlsim.cluster.models.design import agreements, clock_rules, late_rules, two_steps
from ddlsim.cluster.models.design.marks import KnownUpdates
from ddlsim.cluster.models.design.refusals import refused
from ddlsim.cluster.models.design.rule_forms import (
    EDGED,
    FORMS,
    Rule,
    crosses_no_build,
    judgement,
    later,
    may_cross_as_shipped,
    side_by_side,
    whole,
)
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.metastorage.safe_time import DatedSync
from ddlsim.cluster.models.schema.samples import beside, catalog, misread
from ddlsim.cluster.models.schema.statements import difference
from ddlsim.cluster.models.words import words
from ddlsim.model.ddl import ObjectChange, Statement
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject, View
from ddlsim.protocol.commands import FullWrite
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Finish
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.schema.rows import upgrade
from ddlsim.protocol.strategy import (
    CoordinatorPart,
    SchemaChangePart,
    SchemaSyncPart,
    Strategy,
)
from ddlsim.protocol.transaction_record import ACTIVE, Enlistment, Transaction
from ddlsim.units import MIN_TIMESTAMP, Timestamp, show

Tables = tuple[tuple[int, int, int], ...]


class ModelledRules:
    """The rules of one node's design, and what they are compared with."""

    _strategy: Strategy

    def __init__(self, divergence: Divergence) -> None:
        self._divergence = divergence
        self._judged_steps: dict[str, None] = {}
        self._known = late_rules.Known(divergence)
        self._updates = KnownUpdates(divergence)

    def of(self, strategy: Strategy) -> Strategy:
        """The design with every rule that has a form here compared."""
        rules: dict[str, object] = {}
        for field in strategy.__dataclass_fields__:
            rule = getattr(strategy, field)
            name = getattr(rule, "__name__", "")
            if name in FORMS:
                rules[field] = self._compared(rule, FORMS[name])
            elif name in FLOWS:
                rules[field] = FLOWS[name](self, rule)
            elif name in APART:
                rules[field] = APART[name](rule, self._divergence)
        known: Any = rules.get("acknowledge_known_ts", strategy.acknowledge_known_ts)
        rules["acknowledge_known_ts"] = self._known.acknowledged(known)
        self._strategy = strategy.with_rules(rules)
        return self._strategy

    def _compared(self, rule: Rule, form: Rule) -> Rule:
        calls = 0

        def compared(*given: Any, **named: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls <= EDGED:
                for edge in side_by_side(given):
                    compare(edge, named, rule(*edge, **named))
            return compare(given, named, rule(*given, **named) if named else rule(*given))

        def compare(given: tuple[Any, ...], named: dict[str, Any], result: Any) -> Any:
            if result != (form(*given, **named) if named else form(*given)):
                self._wrong(rule, f"gave {words(result)} for {words(given)} {words(named)}")
            return result

        compared.__name__ = rule.__name__
        return compared

    def _wrong(self, rule: Rule, what: str) -> None:
        self._divergence.found(f"{rule.__name__} {what}")

    # --- flows ------------------------------------------------------------------------------------

    def look_up(self, rule: Rule) -> Rule:
        """[98.past.3] Wait for safeTime >= Top - DD and no longer; look up at Top."""

        async def compared(sync: DatedSync, op_ts: Timestamp) -> Any:
            began = sync.wait_for(op_ts)
            result = await rule(sync, op_ts)
            if result.version != sync.catalog.version_at(op_ts):
                self._wrong(rule, f"looked up version {result.version} at {show(op_ts)}")
            if began is not None:
                self._compare_wait(rule, sync, *began)
            return result

        compared.__name__ = rule.__name__
        return compared

    def before_statement(self, rule: Rule) -> Rule:
        """[98.x.8] The metadata is complete for a statement's timestamp, and no later one."""

        async def compared(change: SchemaChangePart, asked_ts: Timestamp) -> None:
            sync = change.sync
            assert isinstance(sync, DatedSync), sync
            began = sync.wait_for(asked_ts)
            await rule(change, asked_ts)
            self._known.complete(change)
            if began is not None:
                self._compare_wait(rule, sync, *began)

        compared.__name__ = rule.__name__
        return compared

    def _compare_wait(
        self,
        rule: Rule,
        sync: "DatedSync",
        needed_ts: int,
        safe_ts: Timestamp,
        began_us: int,
    ) -> None:
        """The safe time at the end is enough, and neither the one at the begin nor any between."""
        if sync.safe_time < needed_ts:
            self._wrong(rule, f"ended at {show(sync.safe_time)}, waiting for {show(needed_ts)}")
        if self._divergence.is_resumed(sync.node.name):
            return
        if sync.node.watch.now_us > began_us and max(safe_ts, sync.before_ts) >= needed_ts:
            self._wrong(rule, f"waited beyond safe time {show(needed_ts)}")

    def commit_schema(self, rule: Rule) -> Rule:
        """[110.valid.1] and the closing rules: the versions at commit_ts, and what they allow."""

        async def compared(
            coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
        ) -> Any:
            enlisted = [(one.object_id, one.version) for one in tx.by_id.values()]
            verdict, tables = result = await rule(coordinator, tx, commit_ts)
            if verdict is not Reason.METADATA_LATE:
                due = self._tables(coordinator.sync, enlisted, commit_ts)
                reason = self._judged(rule.__name__, coordinator, tx, commit_ts, due)
                if (verdict, tables) != (reason, due):
                    what = f"judged {tx.id.label} at {show(commit_ts)}: {verdict} by {tables}"
                    self._wrong(rule, f"{what}, and should be {reason} by {due}")
            return result

        compared.__name__ = rule.__name__
        return compared

    def at_finish(self, rule: Rule) -> Rule:
        """The same at the primary of the commit partition, of what a coordinator sends."""

        async def compared(sync: SchemaSyncPart, request: Finish) -> Any:
            verdict, tables = result = await rule(sync, request)
            commit_ts = request.commit_ts
            if verdict is not Reason.METADATA_LATE and commit_ts is not None:
                due = self._tables(
                    sync, [(one, first) for one, first, _ in request.tables], commit_ts
                )
                changed = [(one, first) for one, first, current in due if current != first]
                judged = (
                    judgement(sync.strategy)(sync.catalog.steps(one, first, commit_ts))
                    for one, first in changed
                )
                reason = next((one for one in judged if one is not None), None)
                if (verdict, tables) != (reason, due):
                    self._wrong(rule, f"judged {request.tx.label}: {verdict}, by {tables}")
                if verdict is None:
                    self._compare_builds(rule, sync, request.tx, due, commit_ts)
            return result

        compared.__name__ = rule.__name__
        return compared

    def _compare_builds(
        self, rule: Rule, sync: SchemaSyncPart, tx: TxId, due: Tables, ts: Timestamp
    ) -> None:
        """No transaction may commit behind the build of an index that its I has not."""
        ways = [sync.catalog.steps(one, first, ts) for one, first, now in due if now != first]
        if sync.strategy.fills_index and not all(map(crosses_no_build, ways)):
            self._wrong(rule, f"lets {tx.label} commit behind the build of an index")

    def _tables(
        self, sync: SchemaSyncPart, enlisted: Iterable[tuple[int, int]], ts: Timestamp
    ) -> Tables:
        return tuple((one, initial, _version(sync, one, ts)) for one, initial in enlisted)

    def _judged(
        self,
        name: str,
        coordinator: CoordinatorPart,
        tx: Transaction,
        commit_ts: Timestamp,
        tables: Tables,
    ) -> Reason | None:
        sync = coordinator.sync
        for object_id, initial, current in tables:
            if current != initial:
                reason = judgement(sync.strategy)(sync.catalog.steps(object_id, initial, commit_ts))
                if reason is not None:
                    return reason
        until = commit_ts if tx.wrote else tx.last_op_ts
        changed = [one for one, initial, current in tables if initial != current]
        ended = [one for one in changed if self._had_changed(sync, tables, one, until, commit_ts)]
        bad = {
            "schema_at_commit_ts_exact_if_written": bool(ended),
            "schema_at_commit_ts_exact_if_shown": any(one in tx.shown for one in changed),
        }
        return Reason.SCHEMA_INCOMPATIBLE if bad.get(name) else None

    def _had_changed(
        self,
        sync: SchemaSyncPart,
        tables: Tables,
        object_id: int,
        ts: Timestamp,
        commit_ts: Timestamp,
    ) -> bool:
        initial = {one: version for one, version, _ in tables}[object_id]
        return ts <= commit_ts and _version(sync, object_id, ts) != initial

    def at_the_stamp(self, rule: Rule) -> Rule:
        """The same of a one-phase write, at its stamp; nothing where safe time is not enough."""

        def compared(sync: SchemaSyncPart, command: FullWrite, stamp: Timestamp) -> Any:
            result = rule(sync, command, stamp)
            assert isinstance(sync, DatedSync), sync
            wait = sync.wait_for(stamp)
            if wait is not None and (result is None) is not (sync.safe_time < wait[0]):
                self._wrong(rule, f"gave {result} at safe time {show(sync.safe_time)}")
            if result is None:
                return None
            (verdict, tables), reason = result, None
            due = self._tables(sync, [(one, first) for one, first, _ in command.tables], stamp)
            for object_id, initial, current in due:
                if current != initial:
                    steps = sync.catalog.steps(object_id, initial, stamp)
                    exact = rule.__name__ == "exact_at_the_stamp"
                    reason = reason or judgement(sync.strategy)(steps)
                    reason = reason or (Reason.SCHEMA_INCOMPATIBLE if exact else None)
            if (verdict, tables) != (reason, due):
                self._wrong(rule, f"judged {command.tx.label}: {verdict}, and should be {reason}")
            if verdict is None:
                self._compare_builds(rule, sync, command.tx, due, stamp)
            return result

        compared.__name__ = rule.__name__
        return compared

    def enlist(self, rule: Rule) -> Rule:
        """[110.flow.2, 110.flow.4] Once a name and transaction, at its first use."""

        calls: dict[TxId, int] = {}

        async def compared(
            coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
        ) -> Any:
            known, shown = tx.by_name.get(name), coordinator.node.clock.current()
            calls[tx.id] = calls.get(tx.id, 0) + 1
            result = await rule(coordinator, tx, name, op)
            if calls[tx.id] > 1:  # another call may have enlisted it, earlier
                shown = MIN_TIMESTAMP
            if known is None and isinstance(result, Enlistment):
                self._compare_enlisted(rule, coordinator, tx, result, shown)
            if known is not None and result is not known:
                self._wrong(rule, f"gave {tx.id.label} another {name} than before")
            if isinstance(result, Enlistment) and tx.by_name.get(name) is not result:
                self._wrong(rule, f"did not keep what {name} is for {tx.id.label}")
            return result

        compared.__name__ = rule.__name__
        return compared

    def _compare_enlisted(
        self,
        rule: Rule,
        coordinator: CoordinatorPart,
        tx: Transaction,
        result: Enlistment,
        shown: Timestamp,
    ) -> None:
        """The version at enlist_ts, which is now [110.flow.2]; its columns are that version's."""
        sync, now = coordinator.sync, coordinator.strategy.base_ts.__name__ == "at_enlistment"
        for one in (result, *(tx.by_id[view] for view, _ in result.views)):
            if one.version != _version(sync, one.object_id, one.enlist_ts):
                self._wrong(rule, f"gave {tx.id.label} version {one.version} of {one.name}")
        if self._views_of(sync, result) != [view for view, _ in result.views]:
            self._wrong(rule, f"gave {tx.id.label} the views {result.views} for {result.name}")
        table = tx.by_id.get(result.table.id)
        if table is None or table.version != result.table.version:
            self._wrong(rule, f"gave {tx.id.label} {words(result.table)}, not {words(table)}")
        if tx.read_ts is not None and result.enlist_ts != tx.read_ts:
            self._wrong(rule, f"gave {words(result)} to a reader at {show(tx.read_ts)}")
        is_old = result.enlist_ts < shown and len(tx.by_id) == 1 + len(result.views)
        if now and tx.read_ts is None and is_old:
            self._wrong(rule, f"gave {tx.id.label} what was there at {show(result.enlist_ts)}")

    @staticmethod
    def _views_of(sync: SchemaSyncPart, result: Enlistment) -> list[int]:
        """The views that lead from what a name means at its enlistment to its table."""
        passed: list[int] = []
        found = sync.catalog.definition(result.object_id, result.version)
        while isinstance(found, View):
            passed.append(found.id)
            base = found.tables[0]
            found = sync.catalog.definition(base, _version(sync, base, result.enlist_ts))
        return passed

    def before_commit_ts(self, rule: Rule) -> Rule:
        """[110.x.2] No operation is under way, and no write is not replicated."""

        async def compared(coordinator: CoordinatorPart, tx: Transaction) -> None:
            await rule(coordinator, tx)
            if tx.outstanding or (tx.unreplicated and tx.reason is None):
                self._wrong(rule, f"lets {tx.id.label} commit, which waits for an operation")
            if tx.reason is None:
                self._updates.compare(coordinator, tx)

        compared.__name__ = rule.__name__
        return compared

    def before_answer(self, rule: Rule) -> Rule:
        """F-6: a commit is answered once every clock shows its timestamp, and then at once."""

        async def compared(coordinator: CoordinatorPart, tx: Transaction) -> None:
            node = coordinator.node
            began = node.watch.now_us
            stamp = tx.commit_ts if tx.read_ts is None else tx.read_ts
            due = whole(later(stamp or 0, node.settings.max_clock_skew_ms))
            shown = node.clock.current()
            await rule(coordinator, tx)
            if node.clock.current() < due:
                self._wrong(rule, f"answers {tx.id.label} before {due}")
            if shown >= due and node.watch.now_us > began:
                self._wrong(rule, f"answers {tx.id.label} later than at {due}")

        compared.__name__ = rule.__name__
        return compared

    def on_activated(self, rule: Rule) -> Rule:
        """[110.valid.3] Behind Tu no transaction is open that the change does not let commit.

        But one that may enlist its table anew [110.quirk].
        """

        async def compared(coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
            self._judge_steps(coordinator, applied)
            self._updates.given(coordinator.node.name, applied.activation_ts)
            await rule(coordinator, applied)
            if coordinator.node.clock.current() < applied.activation_ts:
                self._wrong(rule, f"ended before {show(applied.activation_ts)}")
            ids = {one.object_id: one.version for one in applied.update.objects}
            once = coordinator.strategy.enlists_again.__name__ != "coordinator_retry"
            for tx in coordinator.transactions.values():
                users = [
                    one
                    for one in tx.by_id.values()
                    if one.object_id in ids and (once or one.table.id in tx.ran)
                ]
                for one in users if tx.state is ACTIVE and tx.read_ts is None else ():
                    steps = coordinator.sync.catalog.steps(
                        one.object_id, one.version, applied.activation_ts
                    )
                    if judgement(coordinator.strategy)(steps):
                        self._wrong(rule, f"leaves {tx.id.label} open, which cannot commit")

        compared.__name__ = rule.__name__
        return compared

    def judge_steps(self, rule: Rule) -> Rule:
        """Judge each step of an applied update, whether or not a transaction crosses it."""

        async def compared(coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
            self._judge_steps(coordinator, applied)
            await rule(coordinator, applied)

        compared.__name__ = rule.__name__
        return compared

    def _judge_steps(self, coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
        command_id = applied.update.command_id
        if command_id not in self._judged_steps:
            self._judged_steps[command_id] = None
            strategy = coordinator.strategy
            for step in applied.update.objects:
                before = coordinator.sync.catalog.definition(step.object_id, step.version - 1)
                self._judge(step, before)
                if any(strategy.refuses_change(change) is not None for change in step.changes):
                    self._wrong(strategy.refuses_change, f"refuses installed {words(step)}")

    def builds(self, rule: Rule) -> Rule:
        """What a statement makes of the newest catalog, or why it is refused (`statements`).

        The first statements are each followed by a few others, on a catalog of their own, whose
        changes the design judges as well (`samples`).
        """
        calls = 0

        def compared(statement: Statement, snapshot: Snapshot, alias_ms: int) -> Any:
            nonlocal calls
            calls += 1
            for sample in beside(statement, snapshot.activation_ts, calls):
                built = compare(sample, catalog(), rule(sample, catalog(), alias_ms))
                for step in built.objects if isinstance(built, Built) else ():
                    self._judge(step, catalog().by_id(step.object_id))
                    for why in misread(step):
                        self._wrong(upgrade, f"behind {sample}: {why}")
            return compare(statement, snapshot, rule(statement, snapshot, alias_ms))

        def compare(statement: Statement, snapshot: Snapshot, result: Any) -> Any:
            why = difference(statement, snapshot, result)
            if why is not None:
                self._wrong(build, f"of {statement} {why}")
            return result

        compared.__name__ = rule.__name__
        return compared

    def _judge(self, step: ObjectChange, before: SchemaObject | None) -> None:
        """Judge a step, as the design does, and its changes."""
        rule = self._strategy.check_commit
        reason = rule((step,))
        shipped = getattr(rule, "__name__", "").startswith("each_step_as_shipped")
        if shipped and may_cross_as_shipped(step, before) != (reason is None):
            self._wrong(rule, f"gave {reason} for {words(step)}")
        for change in step.changes:
            self._strategy.refuses_change(change)


def _version(sync: SchemaSyncPart, object_id: int, ts: Timestamp) -> int:
    assert isinstance(sync, DatedSync), sync
    return sync.catalog.object_version(object_id, ts)


FLOWS: Final[dict[str, Callable[[ModelledRules, Rule], Rule]]] = {
    "wait_then_look_up": ModelledRules.look_up,
    "metadata_is_complete": ModelledRules.before_statement,
    "schema_at_commit_ts": ModelledRules.commit_schema,
    "schema_at_commit_ts_exact_if_written": ModelledRules.commit_schema,
    "schema_at_commit_ts_exact_if_shown": ModelledRules.commit_schema,
    "schema_at_finish": ModelledRules.at_finish,
    "schema_at_the_stamp": ModelledRules.at_the_stamp,
    "exact_at_the_stamp": ModelledRules.at_the_stamp,
    "enlist_once": ModelledRules.enlist,
    "await_outstanding_operations": ModelledRules.before_commit_ts,
    "answer_once_past_everywhere": ModelledRules.before_answer,
    "mark_at_activation": ModelledRules.on_activated,
    "leave_unmarked": ModelledRules.judge_steps,
    "incompatible": ModelledRules.builds,
}
"""By the name of a flow: how it is compared."""
APART: Final[dict[str, Callable[[Rule, Divergence], Rule]]] = {
    "add_no_not_null": refused,
    "allow_what_widens": refused,
    "ask_leader_again": late_rules.busy_leader,
    "merge_last_stamp": clock_rules.take_over,
    "beyond_the_log": clock_rules.stamps,
    "install_pending_first": two_steps.stepped,
    **dict.fromkeys(agreements.WITHIN, agreements.agreed),
}
"""The same for those that are compared in modules of their own."""
