"""Runs a scripted timeline: each step when it is due, compared with what it expects.

A step is due at an instant, at an event of another step ("r1.ok"), or at the end of the client's
previous step. Holds and pauses end at the same kinds of events. A step whose outcome differs from
its `expect` is an event of the history.
"""

from collections.abc import Iterable
from typing import Any

from ddlsim.cluster.clients import ClientHost, Outcome
from ddlsim.cluster.machines import Machines
from ddlsim.cluster.step_outcome import AT_THE_END, StepEvents, is_wanted, missed_at_once
from ddlsim.history.events import AnyEvent
from ddlsim.history.world_events import StepMissed
from ddlsim.kernel.engine import Future
from ddlsim.kernel.rules import Hold, Verdict
from ddlsim.model.ops import Begin, Ddl, Read
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.programs import Step
from ddlsim.plan.records import HoldPlan, PausePlan
from ddlsim.protocol.messages import Answer, Refusal, Submit
from ddlsim.scenario.tomltext import toml_value
from ddlsim.units import US_PER_MS


class StepHold(Hold):
    """Holds or loses the messages of one step, or all that match, or few from the nth of them."""

    def __init__(self, hold: HoldPlan) -> None:
        super().__init__(hold.sender, hold.to, hold.kind)
        self._step, self._messages, self._lost = hold.label, hold.messages, hold.lost
        self._first, self._met = hold.nth, 0

    def matches(self, envelope: Any) -> bool:
        """Whether the message was sent for the step, and is one of those meant by their number.

        The network asks once for each message that is sent, also where another rule loses it or
        keeps it back, so that all are counted here.
        """
        if not super().matches(envelope):
            return False
        if self._step is not None and operation_of(envelope.payload) != self._step:
            return False
        self._met += 1
        end = None if self._messages is None else self._first + self._messages
        return self._first <= self._met and (end is None or self._met < end)

    def judge(self, envelope: Any) -> Verdict:
        """Lose the message or keep it back."""
        return Verdict.DROP if self._lost else super().judge(envelope)


def operation_of(payload: object) -> str | None:
    """The operation that a message belongs to; None if it does not say."""
    if type(payload) is Submit:
        return payload.update.op
    op: str | None = getattr(payload, "op", None)
    return op


class Timeline:
    """The steps, holds and pauses of one scripted run."""

    def __init__(self, cluster: Machines, clients: dict[str, ClientHost]) -> None:
        self._cluster = cluster
        self._clients = clients
        self._loop = cluster.loop
        self._events: dict[str, Future[Any]] = {}
        self._begun: dict[str, None] = {}
        self._to_settle: list[Step] = []
        self._holds: dict[int, StepHold] = {}
        self._pauses: list[Future[Any]] = []
        self.unfinished = [step.id for step in cluster.plan.steps]

    def start(self) -> None:
        """Schedule every step, hold and pause; of equal time in the order of the file."""
        for number, hold in enumerate(self._cluster.plan.holds):
            self._loop.call_at(hold.from_us, self._hold, number, hold)
        for pause in self._cluster.plan.pauses:
            self._pause(pause)
        before: dict[str, str] = {}
        for step in self._cluster.plan.steps:
            self._loop.spawn(self._run(step, before.get(step.client)))
            before[step.client] = step.id

    @property
    def never_begun(self) -> list[Step]:
        """The steps that were never due."""
        steps = self._cluster.plan.steps
        return [step for step in steps if not self._event(f"{step.id}.invoked").done]

    def _event(self, name: str) -> Future[Any]:
        """The future of an event of a step: `r1.ok`, `.failed`, `.done`, `.invoked`."""
        found = self._events.get(name)
        if found is None:
            found = self._events[name] = self._loop.future()
        return found

    def _hold(self, number: int, hold: HoldPlan) -> None:
        rule = self._holds[number] = StepHold(hold)
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
        self._pauses.append(until)
        self._cluster.pauses.add(pause.node, pause.point, pause.tx, until)
        if pause.until_us is not None:
            self._loop.call_at(pause.until_us, until.try_set, None)
        if pause.until is not None:
            self._loop.spawn(self._end_pause(until, pause.until))

    async def _end_pause(self, until: Future[Any], event: str) -> None:
        await self._event(event)
        until.try_set(None)

    async def _run(self, step: Step, before: str | None) -> None:
        """Wait until the step is due, perform it, compare, and set its events."""
        if step.at_us is not None:
            await self._loop.sleep(step.at_us)
        if step.after is not None:
            await self._event(step.after)
        elif step.at_us is None and before is not None:
            await self._event(f"{before}.done")
        if step.plus_us:
            await self._loop.sleep(step.plus_us)
        self._event(f"{step.id}.invoked").set(None)
        client, begins = self._clients[step.client], self._begins(step)
        if step.fresh:
            client.forget_schemas()
        begin = Begin(step.read_only, step.as_of_ms) if begins or step.tx is None else None
        reply = await client.perform(step.id, step.tx, step.node, step.do, begin)
        self._record_miss(step, self._missed(step, reply))
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
        """How the reply differs from what the step expects; None if it does not, or only later."""
        if step.expect is None:
            return None
        rows = None
        if type(reply) is Answer and isinstance(step.do, Read):
            client = self._clients[step.client].client
            rows = client.shown(step.do, reply)
        ended_ms = self._loop.now_us / US_PER_MS
        done = type(reply) is not Answer or reply.done
        got = outcome_of(reply)
        missed = missed_at_once(step.expect, got, ended_ms, rows=rows, done=done)
        later = isinstance(step.expect, dict) and any(key in step.expect for key in AT_THE_END)
        if later and is_wanted(step.expect, got):
            self._to_settle.append(step)
        return missed

    def settle(self, events: Iterable[AnyEvent]) -> None:
        """Compare, after the run, what only its events show."""
        if not self._to_settle or not self._cluster.recorder.recording:
            return
        record = StepEvents(events, (step.id for step in self._cluster.plan.steps))
        for step in self._to_settle:
            self._record_miss(step, record.missed(step))

    def _record_miss(self, step: Step, missed: str | None) -> None:
        if missed is not None:
            expected = step.expect if isinstance(step.expect, str) else toml_value(step.expect)
            self._cluster.recorder.record(
                StepMissed(self._loop.now_us, step.id, step.line, expected, missed)
            )

    def unmatched(self) -> list[str]:
        """The holds that held no message, and the pauses that stopped no task, in words."""
        plan = self._cluster.plan
        holds = [
            f"hold[{number}] ({described(hold)}) kept no message back"
            for number, hold in enumerate(plan.holds)
            if number not in self._holds or not self._holds[number].hits
        ]
        return holds + [
            f"pause[{number}] ({pause.node}, {pause.point}"
            f"{'' if pause.tx is None else f', {pause.tx}'}) stopped no task"
            for number, pause in enumerate(plan.pauses)
            if not self._cluster.pauses.stopped(self._pauses[number])
        ]


def described(hold: HoldPlan) -> str:
    """Which messages a hold is for."""
    link = f"{hold.sender or 'any'} to {hold.to or 'any'}, {hold.kind or 'any kind'}"
    return link if hold.label is None else f"{link}, of {hold.label}"


def outcome_of(reply: Outcome) -> str:
    """`ok`, `unknown`, or the reason's code."""
    if type(reply) is Answer:
        return "ok"
    if type(reply) is Refusal:
        return reply.reason.name
    assert reply is NO_REPLY, reply
    return "unknown"
