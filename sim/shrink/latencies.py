"""Passes over the network: constant latencies, and single messages that are late or lost.

Where a constant latency alone does not show the violation, the delays that the seed drew are
written down: a hold for each message, from when it was sent until it arrived. Passes over holds
then leave those that matter.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent
from ddlsim.plan.plan import plan
from ddlsim.search.crash import ran
from ddlsim.shrink.candidates import Candidates, each, every, fewer
from ddlsim.shrink.data import Data, Table, edited, with_list, with_table
from ddlsim.shrink.script import in_ms
from ddlsim.shrink.size import DICE
from ddlsim.shrink.trial import Failure, Shown, scenario_of
from ddlsim.units import ms

CONSTANTS_MS: Final = (0, 1, 2, 5)
"""Latencies that are tried for all links."""
MOST_HOLDS: Final = 4_000
"""More messages than this are not written down."""


class Shares(NamedTuple):
    """By speed: the message that all others are as fast as, and the one beyond which holds are."""

    usual: float
    slow: float


SHARES: Final = (
    Shares(0.5, 0.99), Shares(0.5, 0.95), Shares(0.5, 0.8), Shares(0.5, 0.5), Shares(0, 0.8),
    Shares(0, 0),
)  # fmt: skip
"""What is tried, the fewest holds first; the last is the run exactly as it was."""


def calm(best: Shown, failure: Failure) -> Candidates:
    """No latency, one latency for all links, no loss; then each distribution as a constant."""
    del failure
    data = best.data
    if data.get("network"):
        constants = [{"latency_ms": ms, "client_latency_ms": ms} for ms in CONSTANTS_MS[1:]]
        half = [{"latency_ms": ms} for ms in CONSTANTS_MS[1:]]
        tables: list[Table] = [{}, *half, *constants]
        yield from each([with_table(data, "network", one) for one in tables])


def constants(best: Shown, failure: Failure) -> Candidates:
    """Each distribution as a constant: its typical value, or a large one."""
    del failure
    data = best.data
    for path, distribution in list(_distributions(data)):
        for value in _values(distribution):
            candidate = _with(data, path, value)
            if (yield candidate):
                data = candidate
                break


def _distributions(
    value: Any, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Table]]:
    if isinstance(value, dict) and "distribution" in value:
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _distributions(inner, (*path, key))


def _values(distribution: Table) -> list[float]:
    """Values of a distribution that stand for all of it: small, typical, large."""
    numbers = [one for key, one in distribution.items() if isinstance(one, int | float)]
    return [_neat(one) for one in dict.fromkeys([0, *sorted(numbers)])]


def _neat(number: float) -> float:
    return int(number) if number == int(number) else number


def _with(data: Data, path: tuple[Any, ...], value: float) -> Data:
    def put(copy: Data) -> None:
        here: Any = copy
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = value

    return edited(data, put)


def surely(best: Shown, failure: Failure) -> Candidates:
    """Faults that strike with a probability strike always."""
    del failure
    edits = [
        lambda data, at=at: edited(data, lambda copy: copy["faults"][at].update(probability=1))
        for at, one in enumerate(best.data.get("faults", []))
        if "probability" in one
    ]
    yield from every(best.data, edits)


# --- single messages -----------------------------------------------------------------------------


class Message(NamedTuple):
    """A message between two machines; `due_us` None: it was lost."""

    sender: str
    to: str
    kind: str
    sent_us: int
    due_us: int | None

    @property
    def took_us(self) -> int:
        """How long it took; of one that was lost, nothing."""
        return 0 if self.due_us is None else self.due_us - self.sent_us


def written_down(best: Shown, failure: Failure) -> Candidates:
    """Constant latencies, with a hold for each message that took longer and each that was lost.

    Those that are sent after the violation are left out if that is possible; then as many others.
    """
    if not _is_drawn(best.data):
        return
    data = best.data
    messages = messages_of(traced(failure, data))
    clients = {step["client"] for step in data.get("step", [])}
    before = [one for one in messages if one.sent_us <= best.ends_us]
    own = len(data.get("hold", []))
    for some in (before, messages):
        for shares in SHARES:
            candidate = with_holds(data, some, clients, shares)
            if candidate is not None and (yield candidate):
                yield from _fewer_holds(candidate, own)
                return


def _fewer_holds(data: Data, own: int) -> Candidates:
    """Leave out holds behind the scenario's own ones."""
    holds = data.get("hold", [])

    def of(some: list[Table]) -> Data:
        return with_list(data, "hold", [*holds[:own], *some])

    yield from fewer(holds[own:], of)


def _is_drawn(data: Data) -> bool:
    network, faults = data.get("network", {}), data.get("faults", [])
    chances = any(key in DICE for one in (network, *network.get("links", [])) for key in one)
    strikes = any("probability" in one for one in faults)
    return chances or strikes or any(True for _ in _distributions(network))


def traced(failure: Failure, data: Data) -> History:
    """The run of some data with its messages, as far as it comes."""
    planned = plan(scenario_of(failure, data), failure.seed, trace=True, models=failure.models)
    return ran(planned)[0]


def messages_of(history: History) -> list[Message]:
    """Every message of a traced run between two machines, in the order of sending."""
    arrived: dict[tuple[str, str, str, int, int], int] = {}
    for event in history.of(MessageDelivered):
        key = (event.sender, event.to, event.kind, event.label, event.sent_us)
        arrived.setdefault(key, event.at_us)
    return [
        Message(
            event.sender,
            event.to,
            event.kind,
            event.at_us,
            arrived.get((event.sender, event.to, event.kind, event.label, event.at_us)),
        )
        for event in history.of(MessageSent)
        if event.sender != event.to
    ]


def with_holds(
    data: Data, messages: list[Message], clients: set[str], shares: Shares
) -> Data | None:
    """The scenario with constant latencies: that of the usual message, between nodes and with
    clients.

    Slow messages and lost ones have a hold each; None where these are too many.
    """
    inner = [one for one in messages if one.sender not in clients and one.to not in clients]
    outer = [one for one in messages if one.sender in clients or one.to in clients]
    network: Table = {}
    holds: list[Table] = list(data.get("hold", []))
    for key, some in (("latency_ms", inner), ("client_latency_ms", outer)):
        times = sorted(one.took_us for one in some if one.due_us is not None)
        usual_us, slow_us = (_at(times, share) for share in shares)
        if usual_us:
            network[key] = in_ms(usual_us)
        holds += [_hold(one) for one in some if one.due_us is None or one.took_us > slow_us]
    if len(holds) > MOST_HOLDS:
        return None
    faults = [one for one in data.get("faults", []) if "probability" not in one]
    changed = with_table(with_list(data, "faults", faults), "network", network)
    return with_list(changed, "hold", holds)


def _at(times: list[int], share: float) -> int:
    """The time at this share of all; 0 where there is none."""
    return times[int(share * (len(times) - 1))] if times else 0


def _hold(message: Message) -> Table:
    """A hold for one message."""
    hold: Table = {
        "from": message.sender,
        "to": message.to,
        "kind": message.kind,
        "from_ms": in_ms(message.sent_us),
    }
    if message.due_us is None:
        return {**hold, "lost": True, "messages": 1}
    return {**hold, "until_ms": in_ms(message.due_us), "messages": 1}


def narrow_holds(best: Shown, failure: Failure) -> Candidates:
    """Holds that name the link and the kind of the messages that matter, of one if possible."""
    if not best.data.get("hold"):
        return
    data, messages = best.data, messages_of(traced(failure, best.data))
    for at, hold in enumerate(data["hold"]):
        for narrow in _narrower(hold, [one for one in messages if _is_held(hold, one)]):
            candidate = edited(data, partial(_put_hold, at=at, hold=narrow))
            if (yield candidate):
                data = candidate
                break


def _is_held(hold: Table, message: Message) -> bool:
    """Whether a hold kept a message back: it was sent in time, and came when that ended."""
    ends_us = ms(hold["until_ms"]) if "until_ms" in hold else message.due_us
    late = message.due_us is None or ends_us is None or message.due_us >= ends_us
    named = (
        hold.get("from", message.sender) == message.sender
        and hold.get("to", message.to) == message.to
        and hold.get("kind", message.kind) == message.kind
    )
    return named and late and ms(hold.get("from_ms", 0)) <= message.sent_us <= (ends_us or 1 << 62)


def _narrower(hold: Table, held: list[Message]) -> Iterator[Table]:
    """Holds for one message each of those that were held, then for all of its kind and link."""
    for one in dict.fromkeys((sent.sender, sent.to, sent.kind) for sent in held):
        named = {**dict(zip(("from", "to", "kind"), one, strict=True)), **hold}
        if named | {"messages": 1} != hold:
            yield named | {"messages": 1}
        if named != hold:
            yield named


def _put_hold(data: Data, at: int, hold: Table) -> None:
    data["hold"][at] = hold
