"""The model of commands on their way into the meta storage.

A command is sent to the leader that its node knows, or that the last answer named, or else to one
voter after the other; each time the answer may take twice as long, up to the time limit of an
operation, and a node that refused is not sent the command again without a rest. The leader answers
with what the command has come to in the log, and another node with the leader that it follows. The
DD of an update in the log is the one that the design makes of the statement's own [98.x.4].
"""

from typing import Any, ClassVar, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.ports import Ports
from ddlsim.model.ports import Node, NoReplyType
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, NotLeader, Submit, Submitted
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.units import Micros


class Submission:
    """A command that is submitted: how often, to which node last, and when."""

    def __init__(self) -> None:
        self.tries = 0
        self.to = ""
        self.at_us = 0
        self.reply: Any = None


class Submissions(Ports):
    """The ports of a meta storage; compares where, and for how long, commands are submitted."""

    def __init__(
        self, node: Node, metastorage: MetaStorage, voters: tuple[str, ...], divergence: Divergence
    ) -> None:
        super().__init__(node)
        self._metastorage = metastorage
        self._voters = voters
        self._divergence = divergence
        self._submissions: dict[str, Submission] = {}

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        reply = self.node.request(to, payload, timeout_us, label)
        assert isinstance(payload, Submit), payload
        one = self._submissions.setdefault(payload.update.command_id, Submission())
        expected, now_us = (self._next(one), self._patience_us(one)), self.node.watch.now_us
        self._divergence.compare("where it submits, for how long", (to, timeout_us), expected)
        refused = one.tries and not isinstance(one.reply.value, NoReplyType)
        if refused and to == one.to and now_us - one.at_us < self.node.settings.retry_us:
            self._divergence.found(f"it submits {payload.update!r} to {to} again without a rest")
        one.tries, one.to, one.at_us, one.reply = one.tries + 1, to, now_us, reply
        return reply

    def _next(self, one: Submission) -> str:
        leader, voter = self._metastorage.group.leader, self._voters[one.tries % len(self._voters)]
        answer = one.reply.value if one.tries else None
        if isinstance(answer, NotLeader) and answer.leader not in (None, one.to):
            return str(answer.leader)
        silent = isinstance(answer, NoReplyType) and leader == one.to
        return voter if silent or leader is None else leader

    def _patience_us(self, one: Submission) -> int:
        settings = self.node.settings
        most_us = max(settings.operation_timeout_us, settings.resend_us)
        return min(settings.resend_us * 2**one.tries, most_us) if one.tries else settings.resend_us


class ModelledMetaStorage(MetaStorage):
    """A meta storage that compares what it submits, answers and puts into the log."""

    models: ClassVar[Models]

    def __init__(self, node: Node, *given: Any, **named: Any) -> None:
        super().__init__(node, *given, **named)
        self._divergence = self.models.divergence("submissions", node.name)
        voters = self._config.voters
        self.node = cast("Node", Submissions(node, self, voters, self._divergence))

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
            self._divergence.found(f"{request.update!r} came to {known!r}; the answer: {answer!r}")
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
