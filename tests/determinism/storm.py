"""A storm: every kind of message, fault and rule the kernel knows, and a digest of all of it."""

import hashlib
import sys
from typing import NamedTuple

from ddlsim.kernel.channel import LinkProfile, TracedEnvelope
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.rng import Exponential, Lognormal, Streams, mix, quantiles
from ddlsim.kernel.rules import Block, Slow

NAMES = ("n1", "n2", "n3", "n4")
MESSAGES = 600
LABELS = 1000  # beyond the running numbers of messages without a label


class Gossip(NamedTuple):
    """One way."""

    number: int


class Question(NamedTuple):
    """Wants an answer."""

    number: int


class Answer(NamedTuple):
    """Comes after a nap."""

    number: int


class Storm:
    """One run; `lines` is all that happened, `digest` a hash of it."""

    def __init__(self, seed: int, without: int | None = None) -> None:
        self.loop = Loop()
        self.network = Network(self.loop, seed)
        self.lines: list[str] = []
        self._hash = hashlib.sha256()
        self.network.trace = self._watch
        self.network.configure(LinkProfile(latency=quantiles(Lognormal(1, 20))))
        self.network.configure(
            LinkProfile(latency=quantiles(Exponential(0.5, 4)), loss=0.1), kind="question"
        )
        self.network.configure(LinkProfile(duplication=0.2, reordering=0.3), kind="gossip")
        skews = Streams(seed).stream("clocks", "offset").integers(-3000, 3000, size=len(NAMES))
        self.hosts = [
            Host(self.loop, self.network, name, PhysicalClock(self.loop, int(skew), 20))
            for name, skew in zip(NAMES, skews, strict=True)
        ]
        for host in self.hosts:
            self.boot(host)
        for number in range(MESSAGES):
            if number != without:
                self.loop.call_at(mix(seed, number) % 300_000, self.act, mix(seed, ~number), number)
        for number in range(24):
            draw = mix(seed, number << 32)
            self.loop.call_at(draw % 300_000, self.disturb, mix(draw, number), number % 6)
        self.loop.run()
        self.digest = self._hash.hexdigest()

    def note(self, line: str) -> None:
        self.lines.append(f"{self.loop.now_us} {line}")
        self._hash.update(self.lines[-1].encode())

    def _watch(self, what: str, _: int, envelope: TracedEnvelope) -> None:
        channel = envelope.channel
        self.note(f"{what} {channel.sender} {channel.to} {channel.kind} {envelope.label}")

    def boot(self, host: Host) -> None:
        async def answer(_: str, question: Question) -> Answer:
            await host.sleep(question.number % 5 * 300)
            return Answer(question.number)

        host.on(Question, answer)
        host.on(Gossip, lambda *_: None)

    def act(self, draw: int, number: int) -> None:
        host = self.hosts[draw % 4]
        to = NAMES[draw // 4 % 4]
        if draw // 16 % 3:
            host.send(to, Gossip(number), label=LABELS + number if number % 2 else None)
        else:
            host.spawn(self.ask(host, to, number))

    async def ask(self, host: Host, to: str, number: int) -> None:
        reply = await host.request(to, Question(number), 20_000, label=number)
        self.note(f"{host.name} at {host.clock.read_us()} of {to}: {reply}")

    def disturb(self, draw: int, how: int) -> None:
        host, other = self.hosts[draw % 4], NAMES[draw // 4 % 4]
        heal_us = self.loop.now_us + draw % 40_000
        match how:
            case 0:
                host.crash()
                self.loop.call_at(heal_us, host.restart, lambda: self.boot(host))
            case 1:
                host.pause()
                self.loop.call_at(heal_us, host.resume)
            case 2:
                hold = self.network.hold(other, host.name)
                self.loop.call_at(heal_us, hold.release)
            case 3:
                for rule in (Block(host.name, None), Block(None, host.name)):
                    self.network.install(rule)
                    self.loop.call_at(heal_us, rule.remove)
            case 4:
                slow = Slow(None, host.name, None, by_us=5000)
                self.network.install(slow)
                self.loop.call_at(heal_us, slow.remove)
            case 5:
                host.clock.step(draw % 999)


if __name__ == "__main__":
    storm = Storm(int(sys.argv[1]))
    sys.stdout.write("\n".join([*storm.lines, storm.digest]))
