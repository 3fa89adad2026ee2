"""Runs a scripted timeline: each step when its moment has come, and what was expected of it.

A moment is an instant, an event of another step ("r1.ok"), or the end of the client's step before.
Holds and pauses wait for the same events. What a step's `expect` says is compared with what came of
it; a difference is an event of the history.
"""

from typing import Any, Final

from sim.history.world_events import StepMissed
from sim.kernel.future import Future
from sim.kernel.rules import Hold
from sim.model.ops import Begin, Ddl, Get, Scan
from sim.model.ports import NO_REPLY
from sim.model.programs import Step
from sim.protocol.messages import Answer, Refusal, Submit
from sim.units import US_PER_MS
from sim.world.clients import ClientHost, Outcome
from sim.world.cluster import Cluster
from sim.world.plan_records import HoldPlan, PausePlan

DEFAULT_TOLERANCE_MS: Final = 20
"""How far from `waits_until_ms` a step may end where the scenario does not say."""


class StepHold(Hold):
    """Keeps back just the messages that were sent for one step, or all that match."""

    def __init__(self, hold: HoldPlan) -> None:
        super().__init__(hold.sender, hold.to, hold.kind)
        self._step = hold.label

    def matches(self, envelope: Any) -> bool:
        """Whether the message was sent for the step."""
        if self._step is None:
            return super().matches(envelope)
        return super().matches(envelope) and operation_of(envelope.payload) == self._step


def operation_of(payload: object) -> str | None:
    """The operation that a message was sent for, if it says so."""
    if type(payload) is Submit:
        return payload.update.op
    op: str | None = getattr(payload, "op", None)
    return op


class Timeline:
    """The steps, holds and pauses of one scripted run."""

    def __init__(self, cluster: Cluster, clients: dict[str, ClientHost]) -> None:
        self._cluster = cluster
        self._clients = clients
        self._loop = cluster.loop
        self._events: dict[str, Future[Any]] = {}
        self._begun: dict[str, None] = {}
        self.unfinished = [step.id for step in cluster.plan.steps]

    def start(self) -> None:
        """Set up every step, hold and pause; those of equal time come in the order of the file."""
        for hold in self._cluster.plan.holds:
            self._loop.call_at(hold.from_us, self._hold, hold)
        for pause in self._cluster.plan.pauses:
            self._pause(pause)
        before: dict[str, str] = {}
        for step in self._cluster.plan.steps:
            self._loop.spawn(self._run(step, before.get(step.client)))
            before[step.client] = step.id

    @property
    def never_begun(self) -> list[Step]:
        """The steps whose moment has not come."""
        steps = self._cluster.plan.steps
        return [step for step in steps if not self._event(f"{step.id}.invoked").done]

    def _event(self, name: str) -> Future[Any]:
        """What the event of a step sets: `r1.ok`, `.failed`, `.done`, `.invoked`."""
        found = self._events.get(name)
        if found is None:
            found = self._events[name] = self._loop.future()
        return found

    def _hold(self, hold: HoldPlan) -> None:
        rule = StepHold(hold)
        self._cluster.network.install(rule)
        if hold.until_us is not None:
            self._loop.call_at(hold.until_us, rule.release)
        if hold.until is not None:
            self._loop.spawn(self._release_after(rule, hold.until))

    async def _release_after(self, rule: Hold, event: str) -> None:
        await self._event(event)
        rule.release()

    def _pause(self, pause: PausePlan) -> None:
        until: Future[Any] = self._loop.future()
        self._cluster.pauses.add(pause.node, pause.point, pause.tx, until)
        if pause.until_us is not None:
            self._loop.call_at(pause.until_us, until.try_set, None)
        if pause.until is not None:
            self._loop.spawn(self._end_pause(until, pause.until))

    async def _end_pause(self, until: Future[Any], event: str) -> None:
        await self._event(event)
        until.try_set(None)

    async def _run(self, step: Step, before: str | None) -> None:
        """Wait for the step's moment, perform it, compare, and tell who waits for it."""
        if step.at_us is not None:
            await self._loop.sleep(step.at_us)
        elif step.after is not None:
            await self._event(step.after)
        elif before is not None:
            await self._event(f"{before}.done")
        if step.plus_us:
            await self._loop.sleep(step.plus_us)
        self._event(f"{step.id}.invoked").set(None)
        client, begins = self._clients[step.client], self._begins(step)
        reply = await client.perform(
            step.id, step.tx, step.node, step.do, begins=begins, read_only=step.read_only
        )
        missed = self._missed(step, reply)
        if missed is not None:
            self._cluster.recorder.record(
                StepMissed(self._loop.now_us, step.id, step.line, str(step.expect), missed)
            )
        self._event(f"{step.id}.{'ok' if type(reply) is Answer else 'failed'}").set(None)
        self._event(f"{step.id}.done").set(None)
        self.unfinished.remove(step.id)

    def _begins(self, step: Step) -> bool:
        """Whether the step is the first of its transaction and begins it implicitly."""
        if step.tx is None or isinstance(step.do, Ddl) or step.tx in self._begun:
            return False
        self._begun[step.tx] = None
        return not isinstance(step.do, Begin)

    # --- what was expected ------------------------------------------------------------------------

    def _missed(self, step: Step, reply: Outcome) -> str | None:
        """What came instead of what the step expects; None if it is as expected."""
        expect, got = step.expect, outcome_of(reply)
        if expect is None:
            return None
        if isinstance(expect, str):
            return None if got == expect else got
        for form in ("aborts", "fails"):
            if form in expect:
                return None if got == expect[form] else got
        if type(reply) is not Answer:
            return got
        if "rows" in expect:
            return self._missed_rows(step, expect["rows"], reply)
        return self._missed_wait(expect)

    def _missed_wait(self, expect: dict[str, Any]) -> str | None:
        until_ms: float = expect["waits_until_ms"]
        tolerance_ms: float = expect.get("tolerance_ms", DEFAULT_TOLERANCE_MS)
        ended_ms = self._loop.now_us / US_PER_MS
        if abs(ended_ms - until_ms) <= tolerance_ms:
            return None
        return f"ended at {ended_ms:g} ms"

    def _missed_rows(self, step: Step, rows: list[dict[str, Any]], reply: Answer) -> str | None:
        """Rows are compared by the columns that the expectation names, in any order."""
        client = self._clients[step.client].client
        if not isinstance(step.do, Get | Scan):
            return "no rows"
        do = step.do
        shown = [client.shown(do, cells) for _, cells in reply.rows]
        left = list(shown)
        for want in rows:
            match = next((row for row in left if want.items() <= row.items()), None)
            if match is None:
                return f"rows {shown}"
            left.remove(match)
        return f"rows {shown}" if left else None


def outcome_of(reply: Outcome) -> str:
    """`ok`, `unknown`, or the reason's code."""
    if type(reply) is Answer:
        return "ok"
    if type(reply) is Refusal:
        return reply.reason.name
    assert reply is NO_REPLY, reply
    return "unknown"
