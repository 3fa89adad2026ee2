"""The model of commands on their way into the meta storage.

A command is sent to the leader that its node knows, or that the last answer named, or else to one
voter after the other; each time the answer may take twice as long, up to the time limit of an
operation, and no node is sent the command again without a rest. The leader answers
with what the command has come to in the log, and another node with the leader that it follows. The
DD of an update in the log is the one that the design makes of the statement's own [98.x.4]. A new
leader's clock is taken over from the last stamp of its whole log, before it appends [98.x.1].
"""

from collections.abc import Callable
from dataclasses import replace as replaced
from typing import Any, ClassVar, Final, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.cluster.models.ports import Ports
from ddlsim.cluster.models.words import words
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import Node, NoReplyType
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, NotLeader, Submit, Submitted
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.replication.group import Group
from ddlsim.units import Micros, Timestamp

MOST_DOUBLED: Final = 16
"""How often the time that an answer may take is doubled at most."""
GroupOf = Callable[[PartitionId], Group]


class Submission:
    """A command that is submitted: how often, to which node last, when, and how long for."""

    def __init__(self) -> None:
        self.tries = 0
        self.to = ""
        self.at_us = 0
        self.wait_us = 0
        self.reply: Any = None

    @property
    def answer(self) -> object:
        """What the last node has answered."""
        return self.reply.value if self.tries else None


class Submissions(Ports):
    """The ports of what submits commands; compares where, and for how long, they are submitted."""

    def __init__(self, node: Node, divergence: Divergence) -> None:
        super().__init__(node)
        self.call_later = node.call_later  # type: ignore[method-assign]  # timers are not kept
        self._divergence = divergence
        self._submissions: dict[object, Submission] = {}

    def compare(self, key: object, to: str, expected: str, wait_us: int) -> Submission:
        """Compare where the command of a key is sent, and when; returns what is known of it."""
        one = self._submissions.setdefault(key, Submission())
        if to != expected:
            self._divergence.compare(f"where it submits {words(key)}", to, expected)
        now_us = self.node.watch.now_us
        rest_us = min(one.wait_us, self.node.settings.retry_us)
        if one.tries and to == one.to and now_us - one.at_us < rest_us:
            self._divergence.found(f"it submits {words(key)} to {to} again without a rest")
        one.tries, one.to, one.at_us, one.wait_us = one.tries + 1, to, now_us, wait_us
        return one

    def compare_patience(self, wait_us: int, tries: int, most: int) -> None:
        """Whether an answer may take as long as after some number of tries."""
        settings = self.node.settings
        longest_us = max(settings.operation_timeout_us, settings.resend_us)
        waits_us = [
            min(settings.resend_us * 2**number, longest_us) if number else settings.resend_us
            for number in range(tries, min(most, MOST_DOUBLED) + 1)
        ]
        if wait_us not in (waits_us or [longest_us]):
            self._divergence.compare(f"how long it waits after {tries} tries", wait_us, waits_us)

    def known(self, key: object) -> Submission:
        """What is known of a command."""
        return self._submissions.get(key) or Submission()


class ToMetaStorage(Submissions):
    """Commands of a node for the log of the meta storage."""

    def __init__(self, node: Node, metastorage: MetaStorage, divergence: Divergence) -> None:
        super().__init__(node, divergence)
        self._group = metastorage.group

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        reply = self.node.request(to, payload, timeout_us, label)
        key = payload.update.command_id
        known = self.known(key)
        self._compare_rest(key, known)
        self.compare_patience(timeout_us, known.tries, known.tries)
        self.compare(key, to, self._next(known), timeout_us).reply = reply
        return reply

    def _compare_rest(self, key: object, one: Submission) -> None:
        """A request without an answer in its time is sent again at once, or after a pause."""
        over_us = max(one.at_us + one.wait_us, self._divergence.resumed_us())
        retry_us = self.node.settings.retry_us
        silent = one.tries and isinstance(one.answer, NoReplyType)
        if silent and retry_us and self.node.watch.now_us == over_us + retry_us:
            self._divergence.found(f"it submits {words(key)} after a rest; no answer came in time")

    def _next(self, one: Submission) -> str:
        leader, voters, answer = self._group.leader, self._group.voters, one.answer
        if isinstance(answer, NotLeader) and answer.leader not in (None, one.to):
            return str(answer.leader)
        silent = isinstance(answer, NoReplyType) and leader == one.to
        return voters[one.tries % len(voters)] if silent or leader is None else leader


class ToPartitions(Submissions):
    """Commands of a node for the logs of partitions that another node leads.

    A number is a submission's alone, also across the starts of its node; `submitted` keeps them.
    """

    def __init__(
        self,
        node: Node,
        group_of: GroupOf,
        divergence: Divergence,
        submitted: dict[tuple[str, int], object],
    ) -> None:
        super().__init__(node, divergence)
        self._group_of = group_of
        self._submitted = submitted

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        reply = self.node.request(to, payload, timeout_us, label)
        group, key = self._group_of(payload.place), payload.number
        if to == self.node.name or group.is_leader:
            self._divergence.found(f"it submits {words(payload)} to {to} and leads the group")
        before = self._submitted.setdefault((self.node.name, key), payload.command)
        if before is not payload.command:
            self._divergence.found(
                f"it submits {words(payload)} under the number of {words(before)}"
            )
        self.compare_patience(timeout_us, self.known(key).tries + 1, MOST_DOUBLED)
        self.compare(key, to, group.leader or to, timeout_us).reply = reply
        return reply


def joins(exchange: Exchange, divergence: Divergence) -> None:
    """A node that starts again submits that it has joined, at once."""
    joined: list[object] = []

    def submitted(_asked: object, sent: Sent) -> None:
        joined.append(sent.message.update)

    def compare() -> None:
        if not any(isinstance(one, NodeJoined) for one in joined):
            divergence.found("it has started again and does not join")
        exchange.on_request[Submit].remove(submitted)

    exchange.on_request.setdefault(Submit, []).append(submitted)
    exchange.owe(compare)


class ModelledMetaStorage(MetaStorage):
    """A meta storage that compares what it submits, answers and puts into the log."""

    models: ClassVar[Models]

    def __init__(self, node: Node, *given: Any, **named: Any) -> None:
        super().__init__(node, *given, **named)
        self._divergence = self.models.divergence("submissions", node.name)
        self.node = cast("Node", ToMetaStorage(node, self, self._divergence))

    def _elected(self, term: int) -> None:
        strategy, group, taken = self._strategy, self.group, list[tuple[Timestamp, int]]()
        due = (max(group.last_stamp, self._config.start_ts), group.member.log.last_index)

        def noted(clock: HybridClock, last_stamp: Timestamp) -> None:
            taken.append((last_stamp, group.member.log.last_index))
            strategy.take_over_clock(clock, last_stamp)

        self._strategy = replaced(strategy, take_over_clock=noted)
        super()._elected(term)
        self._strategy = strategy
        self._divergence.compare(
            f"stamp and end of the log in term {term}", taken, [due], list[tuple[Timestamp, int]]
        )

    async def _on_submit(self, sender: str, request: Submit) -> Submitted | NotLeader:
        answer: Submitted | NotLeader = await super()._on_submit(sender, request)
        known = self.application.results.get(request.update.command_id)
        right = (
            isinstance(answer, NotLeader) and known is None and answer.leader == self.group.leader
        )
        if isinstance(answer, Submitted) and known is not None:
            there = (known.accepted, known.catalog_version)
            right = (answer.accepted, answer.catalog_version) == there
        if not right:
            self._divergence.found(
                f"{words(request.update)} came to {words(known)}; the answer: {words(answer)}"
            )
        return answer

    def _with_delay(self, command: CatalogUpdate | NodeJoined) -> CatalogUpdate | NodeJoined:
        found: CatalogUpdate | NodeJoined = super()._with_delay(command)
        expected = command
        if isinstance(command, CatalogUpdate):
            own_ms, most_ms = command.delay_duration_ms, self._config.cluster_delay_ms
            delay_ms = self._strategy.message_delay(own_ms, most_ms)
            expected = replace(command, delay_duration_ms=delay_ms)
        self._divergence.compare("the command for the log", found, expected)
        return found
