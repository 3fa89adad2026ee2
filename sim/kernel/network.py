"""Links between hosts: latency, loss, duplication, reordering; rules decide each message's fate.

A message's delay is a function of (seed, link, kind, label), not the next number of a stream. The
label is the sender's (an operation and its hop) or else a running number per link and kind. One
message more or less therefore leaves the delays of all others as they were: two designs of a
protocol meet the same delays, and shrinking a scenario does not change what is left of it.

Messages of one kind on one link arrive in the order of sending unless reordering says otherwise:
one whose predecessor is late waits behind it. A `LinkProfile` says what links do to messages;
profiles are given for some senders, receivers and kinds, and later entries override earlier ones
(`Override`). A `Rule` looks at each message when it is sent (in the order in which rules were
installed) and lets it pass, drops, holds or delays it. What is on its way already is not touched,
nor what a hold keeps back: once released it meets those rules of its sending that are in force.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Protocol

from ddlsim.kernel.channel import (
    DUPLICATION,
    LOSS,
    REORDERING,
    SECOND_DELAY,
    Channel,
    Endpoint,
    Envelope,
    LinkProfile,
    TracedEnvelope,
    Watch,
)
from ddlsim.kernel.deadlines import Asked
from ddlsim.kernel.engine import NORMAL, Loop
from ddlsim.kernel.rng import FIRST, GOLDEN, MASK, SECOND, TABLE_SHIFT, mix, pick
from ddlsim.kernel.rules import Copy, Delay, Hold, Rule, Rules, Verdict

Trace = Callable[[str, int, TracedEnvelope], None]
"""Called with what happens (send, deliver, vanish, lose, drop, copy, hold), when, and to what."""


class Override:
    """A profile for some messages (None is a wildcard), and the way to take it back.

    `hits` counts the messages that it applied to while it said what may happen to them, `strikes`
    those to which it did happen.
    """

    __slots__ = ("_kind", "_network", "_to", "hits", "order", "profile", "sender", "strikes")

    def __init__(self, network: "Network", profile: LinkProfile, *where: str | None) -> None:
        """`where`: sender, receiver, kind."""
        self._network = network
        self.sender, self._to, self._kind = where
        self.order = 0  # in which it was configured
        self.profile = profile
        self.hits = self.strikes = 0

    def is_of_link(self, sender: str, to: str) -> bool:
        """Whether it says something about messages of some kind on this link."""
        return self._to in (None, to) and self.sender in (None, sender)

    def is_of_kind(self, kind: str) -> bool:
        """Whether it says something about messages of this kind on some link."""
        return self._kind is None or self._kind == kind

    def remove(self) -> None:
        self._network.forget(self)


# --- the network ----------------------------------------------------------------------------------


class Schedule(Protocol):
    """What chooses delays within the latencies of the links (`ddlsim.kernel.schedule`)."""

    def settle(self, channel: Channel) -> None:
        """Change a channel after it has adopted its profiles."""

    def delay_us(self, channel: Channel, label: int) -> int:
        """The delay of a message on a channel that is not plain and has no constant one."""


class Network:
    """All links, and the rules in force; with a `schedule`, that chooses delays."""

    def __init__(self, loop: Loop, seed: int) -> None:
        self.loop = loop
        self.seed = seed
        self._trace: Trace | None = None
        self.rules: list[Rule] = []
        self._endpoints: dict[str, Endpoint] = {}
        self._channels: dict[tuple[str, str, str], Channel] = {}
        self._links: dict[tuple[str, str], list[Channel]] = {}  # the channels of each
        self._profiles: dict[str | None, list[Override]] = {}  # by sender
        self._of_senders: dict[str, list[Override]] = {}
        self._of_links: dict[tuple[str, str], list[Override]] = {}
        self._watches: dict[str, tuple[Watch | None, Watch | None]] = {}
        self.schedule: Schedule | None = None
        self._calm = True  # no rule, and no trace is taken
        self._installed = self._configured = self._serial = 0
        self._order, self._post = loop.order, loop.post

    def attach(self, name: str, endpoint: Endpoint) -> None:
        assert name not in self._endpoints, f"two hosts named {name}"
        self._endpoints[name] = endpoint

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all hosts, those of clients too."""
        return tuple(self._endpoints)

    @property
    def trace(self) -> Trace | None:
        """What is called with everything that happens to messages; None: nothing is."""
        return self._trace

    @trace.setter
    def trace(self, trace: Trace | None) -> None:
        self._trace = trace
        self._look_around()

    def _look_around(self) -> None:
        self._calm = not self.rules and self._trace is None

    # -- sending ---------------------------------------------------------------------------------

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
        self._post((due_us, NORMAL, next(self._order), envelope))

    def _open(self, sender: str, to: str, kind: str) -> Channel:
        assert to in self._endpoints, f"{sender} sends {kind} to {to}, which does not exist"
        channel = Channel(self.seed, sender, to, kind, self._endpoints[to])
        self._channels[sender, to, kind] = channel
        self._links.setdefault((sender, to), []).append(channel)
        if kind in self._watches:
            channel.watch(*self._watches[kind])
        self._settle(channel)
        return channel

    def watch(self, kind: str, *, sent: Watch | None, arrived: Watch | None) -> None:
        """Call `sent` and `arrived` with every message of a kind, on all links; None: no longer."""
        self._watches[kind] = sent, arrived
        for channel in self._channels.values():
            if channel.kind == kind:
                channel.watch(sent, arrived)
                self._settle(channel)

    def _send_with_care(self, envelope: Envelope) -> None:
        """The same send where something may happen to the message on its way."""
        channel, label = envelope.channel, envelope.label
        if self._trace is not None:
            envelope = self._traced(envelope)
            self.note("send", envelope)
        if channel.on_send is not None:
            channel.on_send(envelope)
        if channel.loopback:
            self.loop.ready.append(envelope)
            return
        occurrence = 1  # how often this label was sent: a repeated one must not share its fate
        if not channel.plain:
            channel.seen[label] = occurrence = channel.seen.get(label, 0) + 1
        for override in channel.overrides:
            override.hits += 1
        rules = [rule for rule in self.rules if rule.matches(envelope)]
        if channel.loss and channel.happens(LOSS, channel.loss, label, occurrence):
            self._struck(channel, "loss")
            self.note("lose", envelope)
            return
        in_order, reordering = True, channel.reordering
        if reordering and channel.happens(REORDERING, reordering, label, occurrence):
            in_order = False
            self._struck(channel, "reordering")
        delay_us = channel.constant_us
        if delay_us is None:
            delay_us = self._delay_us(channel, label)
        self.judge(envelope, self.loop.now_us + delay_us, rules, in_order=in_order)
        duplication = channel.duplication
        if duplication and channel.happens(DUPLICATION, duplication, label, occurrence):
            self._struck(channel, "duplication")
            copy = self._traced(envelope)
            self.note("copy", copy)
            draw = mix(mix(channel.key ^ SECOND_DELAY, label), occurrence)
            self.judge(copy, self.loop.now_us + pick(channel.table, draw), rules, in_order=False)

    def _delay_us(self, channel: Channel, label: int) -> int:
        if self.schedule is not None:
            return self.schedule.delay_us(channel, label)
        return pick(channel.table, mix(channel.key, label))

    def judge(self, envelope: Envelope, due_us: int, rules: Rules, *, in_order: bool) -> None:
        """Have those of these rules that are in force judge a message; put it on its way."""
        for number, rule in enumerate(rules, start=1):
            if rule not in self.rules:
                continue
            rule.hits += 1
            match rule.judge(envelope):
                case Delay(by_us):
                    due_us += by_us
                case Copy(by_us):
                    copy = self._traced(envelope)
                    self.note("copy", copy)
                    self.judge(copy, due_us + by_us, rules[number:], in_order=False)
                case Verdict.DROP:
                    self.note("drop", envelope)
                    return
                case Verdict.HOLD:
                    self.note("hold", envelope)
                    rule.keep(envelope, due_us, rules[number:], in_order=in_order)
                    return
        assert type(due_us) is int, f"microseconds are whole: {due_us!r}"
        channel, now_us = envelope.channel, self.loop.now_us
        if due_us < now_us:  # noqa: PLR1730 - for each message; `max` costs five times as much
            due_us = now_us
        if in_order:
            if due_us < channel.last_due_us:
                due_us = channel.last_due_us
            else:
                channel.last_due_us = due_us
        self._post((due_us, NORMAL, next(self._order), envelope))

    @staticmethod
    def _struck(channel: Channel, what: str) -> None:
        """Of the overrides that say how likely it is, the last one counts."""
        speak = [one for one in channel.overrides if getattr(one.profile, what) is not None]
        speak[-1].strikes += 1

    def _traced(self, of: Envelope) -> Envelope:
        """The message as one that traces its arrival, if a trace is taken."""
        if self._trace is None:
            return of
        self._serial += 1
        return TracedEnvelope(
            of.channel, of.label, of.payload, of.asks, of.answers,
            sent_us=self.loop.now_us, serial=self._serial, note=self.note,
        )  # fmt: skip

    def note(self, what: str, envelope: Envelope) -> None:
        """Add to the trace, if one is taken."""
        if self._trace is not None and isinstance(envelope, TracedEnvelope):
            self._trace(what, self.loop.now_us, envelope)

    # -- profiles ----------------------------------------------------------------------------------

    def configure(
        self,
        profile: LinkProfile,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
    ) -> Override:
        """A profile for these messages; None is a wildcard, and of two entries the later counts."""
        override = Override(self, profile, from_, to, kind)
        self._configured += 1
        override.order = self._configured
        self._profiles.setdefault(from_, []).append(override)
        self._settle_all(override)
        return override

    def forget(self, override: Override) -> None:
        """The profiles as if this entry had never been made."""
        self._profiles[override.sender].remove(override)
        self._settle_all(override)

    def _settle_all(self, override: Override) -> None:
        self._of_senders.clear()
        for (sender, to), channels in self._links.items():
            if override.is_of_link(sender, to):
                self._of_links.pop((sender, to), None)
                for channel in channels:
                    if override.is_of_kind(channel.kind):
                        self._settle(channel)

    def _settle(self, channel: Channel) -> None:
        """Let a channel adopt all entries that concern it, in order."""
        kind = channel.kind
        over = [one for one in self._on(channel.sender, channel.to) if one.is_of_kind(kind)]
        channel.adopt([one.profile for one in over])
        channel.overrides = tuple([one for one in over if one.profile.misbehaves])
        where = f"{channel.sender} > {channel.to}, {channel.kind}"
        assert channel.table or channel.loopback, f"no latency is configured for {where}"
        if self.schedule is not None:
            self.schedule.settle(channel)

    def _on(self, sender: str, to: str) -> list[Override]:
        """The entries that concern a link, in order: of many links each has few."""
        found = self._of_links.get((sender, to))
        if found is None:
            own = self._of_senders.get(sender)
            if own is None:
                own = [*self._profiles.get(None, ()), *self._profiles.get(sender, ())]
                own.sort(key=attrgetter("order"))
                self._of_senders[sender] = own
            found = [one for one in own if one.is_of_link(sender, to)]
            self._of_links[sender, to] = found
        return found

    def settle_sender(self, sender: str) -> None:
        """Settle the open channels of a sender anew: its schedule has changed."""
        for channel in self._channels.values():
            if channel.sender == sender:
                self._settle(channel)

    def reseed(self, seed: int) -> None:
        """Draw by another seed from now on: delays and fates of what is sent, spans of hosts."""
        self.seed = seed
        for channel in self._channels.values():
            channel.reseed(seed)
            self._settle(channel)

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
    ) -> Hold:
        """Keep these messages back until `release`."""
        rule = Hold(from_, to, kind, label)
        self.install(rule)
        return rule
