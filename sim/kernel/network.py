"""Links between hosts: latency, loss, duplication, reordering; rules decide each envelope's fate.

A message's delay is a function of (seed, link, kind, label) and not the next number of a stream.
The label is the sender's (an operation and its hop) or else a running number per link and kind.
One message more or less therefore leaves the delays of all others as they were: two designs of a
protocol see the same weather, and shrinking does not wander.

Messages of one kind on one link arrive in the order of sending unless reordering says otherwise:
one whose predecessor is late waits behind it. What shall not queue is `override`n: it arrives
exactly when told, out of line. Rules look at a message when it is sent, in the order in which they
were installed; what is on its way already is not touched any more.
"""

from collections.abc import Sequence
from heapq import heappush
from typing import Any

from sim.kernel.deadlines import Asked
from sim.kernel.envelope import (
    DUPLICATION,
    LOSS,
    REORDERING,
    SECOND_DELAY,
    Channel,
    Endpoint,
    Envelope,
    Trace,
    TracedEnvelope,
    Weather,
)
from sim.kernel.forecast import Forecast
from sim.kernel.loop import NORMAL, Loop
from sim.kernel.rng import FIRST, GOLDEN, MASK, SECOND, TABLE_SHIFT, mix, pick
from sim.kernel.rules import Block, Delay, Hold, Partition, Rule, Slow, Verdict


class Network:
    """All links, and the rules in force."""

    def __init__(self, loop: Loop, seed: int) -> None:
        self.loop = loop
        self.seed = seed
        self._trace: Trace | None = None
        self.rules: list[Rule] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._channels: dict[tuple[str, str, str], Channel] = {}
        self._weather: list[Forecast] = []
        self._overrides: dict[tuple[str, str, str, int], int] = {}
        self._calm = True  # no rule, no override, and nobody watches
        self._installed = self._serial = 0
        self._queue, self._order = loop.queue, loop.order

    def attach(self, name: str, endpoint: Endpoint) -> None:
        assert name not in self._endpoints, f"two hosts named {name}"
        self._endpoints[name] = endpoint

    @property
    def trace(self) -> Trace | None:
        """Who watches."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        self._trace = trace
        self._look_around()

    def _look_around(self) -> None:
        self._calm = not (self.rules or self._overrides or self._trace is not None)

    # -- sending ---------------------------------------------------------------------------------

    def send(self, sender: str, to: str, kind: str, payload: Any, label: int | None = None) -> None:
        """Send one way; `label` names the message within its link and kind."""
        self.transmit(self.channel(sender, to, kind), payload, label)

    def channel(self, sender: str, to: str, kind: str) -> Channel:
        """The one channel of this link and kind."""
        return self._channels.get((sender, to, kind)) or self._open(sender, to, kind)

    def transmit(
        self,
        channel: Channel,
        payload: Any,
        label: int | None,
        asks: Asked | None = None,
        answers: Asked | None = None,
    ) -> None:
        """The hot path: one draw, one push. A request `asks`, a reply `answers` what was asked."""
        if label is None:
            channel.count = label = channel.count + 1
        envelope = Envelope(channel, label, payload, asks, answers)
        if not (self._calm and channel.plain):
            self._send_with_care(envelope)
            return
        delay_us = channel.constant_us
        if delay_us is None:
            # `pick(table, mix(key, label))` written out, a tenth of the cost of a message; the last
            # line of `mix` does not reach the bits that choose from the table.
            draw = (channel.key + label * GOLDEN) & MASK
            draw = ((draw ^ (draw >> 30)) * FIRST) & MASK
            draw = ((draw ^ (draw >> 27)) * SECOND) & MASK
            delay_us = channel.table[draw >> TABLE_SHIFT]
        due_us = self.loop.now_us + delay_us
        if due_us < channel.last_due_us:
            due_us = channel.last_due_us
        else:
            channel.last_due_us = due_us
        heappush(self._queue, (due_us, NORMAL, next(self._order), envelope))

    def _open(self, sender: str, to: str, kind: str) -> Channel:
        assert to in self._endpoints, f"{sender} sends {kind} to {to}, which does not exist"
        channel = Channel(self.seed, sender, to, kind, self._endpoints[to])
        self._channels[sender, to, kind] = channel
        self._settle(channel)
        return channel

    def _send_with_care(self, envelope: Envelope) -> None:
        """The same send where something may happen to the message on its way."""
        channel, label = envelope.channel, envelope.label
        if self._trace is not None:
            envelope = self._traced(envelope)
            self.note("send", envelope)
        if channel.loopback:
            self.loop.ready.append(envelope)
            return
        exact_us = self._overrides.get((channel.sender, channel.to, channel.kind, label))
        if exact_us is not None:
            self.route(envelope, self.loop.now_us + exact_us, in_order=False)
            return
        occurrence = channel.occurrence(label) if not channel.plain else 1
        for forecast in channel.likely:
            forecast.hits += 1
        if channel.happens(LOSS, channel.loss, label, occurrence):
            self._struck(channel, "loss")
            self.note("lose", envelope)
            return
        in_order = not channel.happens(REORDERING, channel.reordering, label, occurrence)
        if not in_order:
            self._struck(channel, "reordering")
        delay_us = pick(channel.table, mix(channel.key, label))
        self.route(envelope, self.loop.now_us + delay_us, in_order=in_order)
        if channel.happens(DUPLICATION, channel.duplication, label, occurrence):
            self._struck(channel, "duplication")
            copy = self._traced(envelope)
            self.note("copy", copy)
            draw = mix(mix(channel.key ^ SECOND_DELAY, label), occurrence)
            self.route(copy, self.loop.now_us + pick(channel.table, draw), in_order=False)

    def route(self, envelope: Envelope, due_us: int, *, in_order: bool, after: int = 0) -> None:
        """Ask the rules installed later than `after`, then put the envelope on its way."""
        for rule in list(self.rules):
            if rule.order <= after or not rule.matches(envelope):
                continue
            rule.hits += 1
            match rule.judge(envelope):
                case Delay(by_us):
                    due_us += by_us
                case Verdict.DROP:
                    self.note("drop", envelope)
                    return
                case Verdict.HOLD:
                    self.note("hold", envelope)
                    rule.keep(envelope, due_us, in_order=in_order)
                    return
        channel = envelope.channel
        due_us = max(due_us, self.loop.now_us)
        if in_order:
            channel.last_due_us = due_us = max(due_us, channel.last_due_us)
        self.loop.push(due_us, envelope)

    @staticmethod
    def _struck(channel: Channel, what: str) -> None:
        """Of the forecasts that speak of it, the last one counts."""
        speak = [one for one in channel.likely if getattr(one.weather, what) is not None]
        speak[-1].strikes += 1

    def _traced(self, of: Envelope) -> Envelope:
        """The message as one that reports its arrival, if anybody watches."""
        if self._trace is None:
            return of
        self._serial += 1
        return TracedEnvelope(
            of.channel, of.label, of.payload, of.asks, of.answers,
            sent_us=self.loop.now_us, serial=self._serial, note=self.note,
        )  # fmt: skip

    def note(self, what: str, envelope: Envelope) -> None:
        """Tell whoever watches."""
        if self._trace is not None and isinstance(envelope, TracedEnvelope):
            self._trace(what, self.loop.now_us, envelope)

    # -- the weather -----------------------------------------------------------------------------

    def configure(
        self,
        weather: Weather,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
    ) -> Forecast:
        """Weather for these messages; None is a wildcard, and of two entries the later counts."""
        forecast = Forecast(self, weather, from_, to, kind)
        self._weather.append(forecast)
        self._settle_all(forecast)
        return forecast

    def forget(self, forecast: Forecast) -> None:
        """The weather as if this entry had never been made."""
        self._weather.remove(forecast)
        self._settle_all(forecast)

    def _settle_all(self, forecast: Forecast) -> None:
        for channel in self._channels.values():
            if forecast.concerns(channel):
                self._settle(channel)

    def _settle(self, channel: Channel) -> None:
        """Let a channel adopt all entries that concern it, in order."""
        channel.reset()
        over = [forecast for forecast in self._weather if forecast.concerns(channel)]
        for forecast in over:
            channel.adopt(forecast.weather)
        channel.likely = tuple(one for one in over if one.weather.is_rough)
        where = f"{channel.sender} > {channel.to}, {channel.kind}"
        assert channel.table or channel.loopback, f"no latency is configured for {where}"

    # -- the rules -------------------------------------------------------------------------------

    def install(self, rule: Rule) -> None:
        """Put a rule behind those in force."""
        assert rule.order == 0, "a rule is installed once"
        self._installed += 1
        rule.order, rule.network = self._installed, self
        self.rules.append(rule)
        self._look_around()

    def remove(self, rule: Rule) -> None:
        self.rules.remove(rule)
        self._look_around()

    def hold(
        self,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        label: int | None = None,
        until_us: int | None = None,
    ) -> Hold:
        """Keep these messages back until `release`, or until a moment."""
        rule = Hold(from_, to, kind, label)
        self.install(rule)
        if until_us is not None:
            self.loop.call_at(until_us, rule.release)
        return rule

    def block(self, from_: str | None = None, to: str | None = None) -> None:
        """Drop everything in this one direction."""
        self.install(Block(from_, to))

    def unblock(self, from_: str | None = None, to: str | None = None) -> None:
        """Take back every `block` of exactly this direction."""
        self.rules = [
            rule
            for rule in self.rules
            if not (isinstance(rule, Block) and (rule.from_, rule.to) == (from_, to))
        ]
        self._look_around()

    def partition(self, *groups: Sequence[str]) -> Partition:
        """Let nothing pass between groups until `heal`; who is in no group hears everybody."""
        rule = Partition(groups)
        self.install(rule)
        return rule

    def delay_traffic(
        self,
        *,
        by_us: int,
        into: str | None = None,
        from_: str | None = None,
        kind: str | None = None,
    ) -> Slow:
        """Make these messages later by so much until `restore`."""
        rule = Slow(from_, into, kind, by_us=by_us)
        self.install(rule)
        return rule

    def override(self, from_: str, to: str, kind: str, label: int, delay_us: int) -> None:
        """Let the messages of this label take exactly so long: neither lost, nor in line."""
        self._overrides[from_, to, kind, label] = delay_us
        self._look_around()
