"""A history as steps of its nodes and clients, with the messages between them.

Between two awaits nothing else happens in the cluster, so consecutive events of one node or client
at one instant are one *step*: what a message, a timer or a client set off. A message leads from the
step that sent it to the step that its arrival begins. Both orders together are Lamport's
happens-before; `Steps.past` is the causal past of some steps.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ddlsim.history.events import AnyEvent, Invoked
from ddlsim.history.history import History
from ddlsim.history.world_events import FaultBegan, FaultHealed, MessageDelivered, MessageSent


class Step(NamedTuple):
    """The events from position `first` to `last` of one lane, a node or a client.

    `number` is its place in the list of all steps, `before` that of the previous step of its lane,
    `arrived` the number of the message that began it.
    """

    number: int
    lane: str
    at_us: int
    first: int
    last: int
    before: int | None
    arrived: int | None


class Message(NamedTuple):
    """A message: numbers of the steps that sent and received it; None where it never arrived."""

    sender: str
    to: str
    kind: str
    sent_us: int
    sent_in: int
    arrived_in: int | None = None


class Steps:
    """All steps and messages of a history; `step_of` is the number of each event's step.

    An event of no lane (a fault of several nodes, a step of the scenario) belongs to no step: None.
    """

    def __init__(self, history: History) -> None:
        self.events: Sequence[AnyEvent] = history.events
        self.steps: list[Step] = []
        self.messages: list[Message] = []
        self.step_of: list[int | None] = []
        self._sent: dict[tuple[str, str, str, int, int], int] = {}
        self._last: dict[str, int] = {}
        for at, event in enumerate(self.events):
            self._add(at, event)

    @property
    def traced(self) -> bool:
        """Whether messages were recorded."""
        return bool(self.messages)

    def past(self, numbers: Iterable[int]) -> set[int]:
        """These steps and all that happened before them: both orders lead to smaller numbers."""
        found = set(numbers)
        for step in reversed(self.steps):
            if step.number in found:
                found.update(self.causes(step))
        return found

    def causes(self, step: Step) -> Iterable[int]:
        """The steps directly before a step: the previous one of its lane, and the sender's."""
        if step.before is not None:
            yield step.before
        if step.arrived is not None:
            yield self.messages[step.arrived].sent_in

    def trigger(self, step: Step) -> int | None:
        """The step that set a step off: the sender's, or the one that it continues at its instant.

        None where a timer or a client began it.
        """
        if step.arrived is not None:
            return self.messages[step.arrived].sent_in
        if step.before is None or type(self.events[step.first]) is Invoked:
            return None
        return step.before if self.steps[step.before].at_us == step.at_us else None

    def events_of(self, step: Step) -> Sequence[AnyEvent]:
        """The events of a step, in order."""
        return self.events[step.first : step.last + 1]

    def _add(self, at: int, event: AnyEvent) -> None:
        lane = lane_of(event)
        if lane is None:
            self.step_of.append(None)
            return
        if not self._continues(at, event, lane):
            number, before = len(self.steps), self._last.get(lane)
            self.steps.append(Step(number, lane, event.at_us, at, at, before, None))
            self._last[lane] = number
        number = self._last[lane]
        self.steps[number] = self.steps[number]._replace(last=at)
        self.step_of.append(number)
        if type(event) is MessageSent:
            key = (event.sender, event.to, event.kind, event.label, event.at_us)
            self._sent[key] = len(self.messages)
            message = Message(event.sender, event.to, event.kind, event.at_us, number)
            self.messages.append(message)
        elif type(event) is MessageDelivered:
            self._arrive(event, number)

    def _continues(self, at: int, event: AnyEvent, lane: str) -> bool:
        """Whether an event belongs to the step of the event before it."""
        if not self.steps or type(event) in {MessageDelivered, Invoked}:
            return False
        last = self.steps[-1]
        return (last.lane, last.at_us, last.last) == (lane, event.at_us, at - 1)

    def _arrive(self, event: MessageDelivered, number: int) -> None:
        """Join an arrival with what was sent; of a message that arrives twice, a copy is made."""
        key = (event.sender, event.to, event.kind, event.label, event.sent_us)
        sent = self._sent.get(key)
        if sent is None:
            return
        message = self.messages[sent]
        if message.arrived_in is not None:
            sent = len(self.messages)
            self.messages.append(message)
        self.messages[sent] = message._replace(arrived_in=number)
        self.steps[number] = self.steps[number]._replace(arrived=sent)


def lane_of(event: AnyEvent) -> str | None:
    """The node or the client of an event; None where it has none."""
    if type(event) is MessageSent:
        return event.sender
    if type(event) is MessageDelivered:
        return event.to
    client: str | None = getattr(event, "client", None)
    node: str | None = getattr(event, "node", None)
    is_fault = isinstance(event, FaultBegan | FaultHealed)
    return client if client is not None or is_fault else node
