"""Runs a plan in four phases: set up, load under faults, heal, drain and read back.

A run is a function of its plan: it draws nothing and reads no wall clock. Recording takes no
simulated time and decides nothing.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import ddlsim
from ddlsim.cluster.adapters import Listeners, Recorder
from ddlsim.cluster.clients import ClientHost, ProgramRunner
from ddlsim.cluster.designs import declared
from ddlsim.cluster.faults import ClusterFaults
from ddlsim.cluster.nemesis import Nemesis, awaits_moments
from ddlsim.cluster.planes import built
from ddlsim.cluster.timeline import Timeline
from ddlsim.garbage import collect_young, collected_seldom
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.history.stream import Stream, streamed
from ddlsim.history.world_events import (
    LeftOpen,
    MessageDelivered,
    MessageSent,
    NeverCompleted,
    NothingMatched,
)
from ddlsim.kernel.channel import TracedEnvelope
from ddlsim.kernel.engine import FOREVER
from ddlsim.kernel.rng import quantiles
from ddlsim.nemesis.slow_listener import SlowListener
from ddlsim.plan.records import ClockStep, Plan
from ddlsim.units import US_PER_MS, as_ms, ms

SLICE_US: Final = 50_000
"""Simulated time between two looks of the drain whether everything has ended."""


def run(plan: Plan, *, events_max: int = FOREVER) -> History:
    """Run a plan; return the history of everything that happened.

    Raises `SimulationCrashed` after more than `events_max` events of the loop.
    """
    history = Run(plan, events_max=events_max).carry_out()
    collect_young()
    return history


def run_to(plan: Plan, path: str | Path) -> History:
    """Run a plan and write its events to a file meanwhile; return the history without events.

    The file is the one that `codec.save` would write, but the events are never all in memory.
    """
    with streamed(path) as stream:
        history = Run(plan, stream).carry_out()
        stream.end(history)
    collect_young()
    return history


def facts_for_judges(plan: Plan) -> dict[str, int]:
    """Numbers about the run that checkers of waits need, for the history's header.

    `voters`: number of nodes that vote in the meta storage. `calm`: 1 if only faults lose, hold or
    slow messages, and idle safe-time commands are on; `staged`: 1 if a script holds messages or
    nodes, or these commands are off. `load_ms`: end of the load. `slowest_us`: the
    largest latency of a message that no fault slows. `slow_apply_us`: what all faults that slow the
    application of the meta storage add up to. `tells_names`: 1, since the history has the names
    that operations use and every refused lock. `handed_over_us`: the last scripted hand-over of a
    group, if there is any. `resolvers`: how many the store under a layer has, if there is one.
    """
    staged = plan.holds or plan.pauses or plan.applies or not plan.idle_ticks
    lossy = any(link.loss for link in plan.links)
    handed_over_us = max((transfer.at_us for transfer in plan.leaders), default=0)
    processes = () if plan.store is None else plan.store.processes
    resolvers = sum(role == "resolver" for role, _ in processes)
    return {
        "voters": sum(node.voter for node in plan.nodes),
        "calm": int(not staged and not lossy),
        "staged": int(bool(staged)),
        "load_ms": plan.load_until_us // US_PER_MS,
        "slowest_us": max(
            (quantiles(link.latency)[-1] for link in plan.links if link.latency is not None),
            default=0,
        ),
        "slow_apply_us": sum(
            ms(one.fields["delay_ms"]) for one in plan.faults if one.name == SlowListener.name
        ),
        "tells_names": 1,
        **({"handed_over_us": handed_over_us} if handed_over_us else {}),
        **({"resolvers": resolvers} if resolvers else {}),
    }


class Run:
    """One run under way; its clients are of `client_class`."""

    client_class: type[ClientHost] = ClientHost

    def __init__(
        self,
        plan: Plan,
        stream: Stream | None = None,
        *,
        events_max: int = FOREVER,
    ) -> None:
        self.plan = plan
        self._events_max = events_max
        self.history = History(self._header())
        self._stream = stream
        if stream is not None:
            stream.begin(self.history.header)
        listeners = Listeners() if awaits_moments(plan) else None
        recorder = Recorder(
            self.history, recording=plan.recording, stream=stream, listeners=listeners
        )
        self.cluster, groups = built(plan, recorder)
        self.loop = self.cluster.loop
        self._recorder = recorder
        self._clients: dict[str, ClientHost] = {}
        self._programs: list[ProgramRunner] = []
        self._cluster_faults = ClusterFaults(self.cluster, groups)
        self._nemesis = Nemesis(self.cluster, self._cluster_faults, listeners)
        if plan.trace:
            self.cluster.network.trace = self._trace

    def carry_out(self) -> History:
        """Run all phases."""
        with collected_seldom():
            self._set_up()
            self.loop.run(self.plan.load_until_us, self._events_max)
            self._heal_all()
            self._drain()
            self._steps.settle(self._so_far())
            self._record_unmatched()
            self.cluster.compare_states()
            self.cluster.read_back()
        self.history.end_us = self.loop.now_us
        self.history.executed_events = self.loop.events
        return self.history

    def _so_far(self) -> Iterable[AnyEvent]:
        """The events recorded so far, from memory or from the stream."""
        return self.history.events if self._stream is None else self._stream.events()

    # --- set up -----------------------------------------------------------------------------------

    def _set_up(self) -> None:
        plan = self.plan
        if plan.redraw is not None:
            reseed, at_us = self.cluster.network.reseed, plan.redraw.after_us + 1
            self.loop.call_at(at_us, reseed, plan.redraw.network_seed)
        for program in plan.programs:
            client = self._client(program.client, session=program.session)
            runner = ProgramRunner(client, program, plan.load_until_us)
            self._programs.append(runner)
            self.loop.spawn(runner.run())
        for step in plan.steps:
            self._client(step.client, session=step.session)
        self._steps = Timeline(self.cluster, self._clients)
        self._steps.start()
        for tick in plan.ticks:
            self.loop.call_at(tick.at_us, self._tick)
        for transfer in plan.leaders:
            if transfer.at_us:
                transfer_to = self._cluster_faults.groups.transfer
                self.loop.call_at(transfer.at_us, transfer_to, transfer.group, transfer.node)
        for change in plan.clock_steps:
            self.loop.call_at(change.at_us, self._set_clock, change)
        self._nemesis.start()

    def _tick(self) -> None:
        """Send a scripted idle safe-time command from the present leader."""
        self._cluster_faults.groups.tick()

    def _client(self, name: str, *, session: bool) -> ClientHost:
        if name not in self._clients:
            self._clients[name] = self.client_class(self.cluster, name, session=session)
        return self._clients[name]

    def _set_clock(self, change: ClockStep) -> None:
        """Set a clock as scripted: its offset from true time, its drift, or both."""
        if change.drift_ppm is not None:
            self.cluster.set_drift(change.node, change.drift_ppm)
        if change.offset_us is not None:
            shown_us = self.cluster.hosts[change.node].clock.read_us()
            self.cluster.step_clock(change.node, self.loop.now_us + change.offset_us - shown_us)

    # --- faults -----------------------------------------------------------------------------------

    def _heal_all(self) -> None:
        """Heal all faults, then run for a moment, so that nodes restart even if unused."""
        if self._nemesis.heal_all():
            self.loop.run(self.loop.now_us + SLICE_US, self._events_max)

    def _record_unmatched(self) -> None:
        """Record the holds, pauses and faults that had nothing to act on, for a warning."""
        for what in [*self._steps.unmatched(), *self._nemesis.unmatched()]:
            self._recorder.record(NothingMatched(self.loop.now_us, what))

    # --- drain and read back ----------------------------------------------------------------------

    def _drain(self) -> None:
        """Run until all work has ended or the drain is over; record what never completed."""
        deadline_us = self.plan.load_until_us + self.plan.drain_us
        while self.loop.now_us < deadline_us:
            if self._work_is_over():
                break
            self.loop.run(min(self.loop.now_us + SLICE_US, deadline_us), self._events_max)
        for client in self._clients.values():
            for op, (do, node) in client.open.items():
                waits_for = f"an answer to {do.__struct_config__.tag} from {node}"
                event = NeverCompleted(self.loop.now_us, client.name, op, waits_for)
                self._recorder.record(event)
        for step in self._steps.never_begun:
            instant = f"its instant, {as_ms(step.at_us or 0)} ms"
            waits_for = instant if step.after is None else f"its moment, {step.after}"
            event = NeverCompleted(self.loop.now_us, step.client, step.id, waits_for)
            self._recorder.record(event)
        for name, what, waits_for in self.cluster.not_at_rest():
            self._recorder.record(NeverCompleted(self.loop.now_us, name, what, waits_for))
        for name, tx, what in self.cluster.left_open():
            self._recorder.record(LeftOpen(self.loop.now_us, name, tx, what))
        for behind in self.cluster.schemas_behind():
            self._recorder.record(behind)

    def _work_is_over(self) -> bool:
        """Whether every client is done, all nodes run, and no transaction left anything open."""
        if self._steps.unfinished or not all(program.finished for program in self._programs):
            return False
        return not self.cluster.has_open_work()

    # --- the history's header, the trace ----------------------------------------------------------

    def _header(self) -> Header:
        plan = self.plan
        settings = {node.name: dict(node.settings) for node in plan.nodes}
        settings[""] = {**plan.cluster_settings, **facts_for_judges(plan)}
        return Header(
            format=HISTORY_FORMAT,
            program=ddlsim.__version__,
            scenario=plan.scenario,
            scenario_text=plan.scenario_text,
            overrides=plan.overrides,
            seed=plan.seed,
            design=declared(plan),
            mutant=plan.mutant,
            expect=plan.expect,
            reaches=plan.reaches,
            settings=settings,
            strict=plan.strict,
            all_claims=plan.all_claims,
            never_reaches=plan.never_reaches,
        )

    def _trace(self, what: str, at_us: int, envelope: TracedEnvelope) -> None:
        channel = envelope.channel
        if what == "send":
            self._recorder.record(
                MessageSent(at_us, channel.sender, channel.to, channel.kind, envelope.label)
            )
        elif what == "deliver":
            self._recorder.record(
                MessageDelivered(
                    at_us,
                    channel.sender,
                    channel.to,
                    channel.kind,
                    envelope.label,
                    envelope.sent_us,
                )
            )
