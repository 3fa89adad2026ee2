"""One entry of the weather: which messages, what happens to them, and the way to take it back."""

from typing import TYPE_CHECKING

from sim.kernel.envelope import Channel, Weather

if TYPE_CHECKING:
    from sim.kernel.network import Network


class Forecast:
    """Weather for these messages; None is a wildcard.

    `hits` counts the messages that it was over while it said what may happen to them, `strikes`
    what did happen because of it.
    """

    __slots__ = ("_from", "_kind", "_network", "_to", "hits", "strikes", "weather")

    def __init__(
        self,
        network: "Network",
        weather: Weather,
        from_: str | None,
        to: str | None,
        kind: str | None,
    ) -> None:
        self._network = network
        self._from, self._to, self._kind = from_, to, kind
        self.weather = weather
        self.hits = self.strikes = 0

    def concerns(self, channel: Channel) -> bool:
        return (
            (self._to is None or self._to == channel.to)
            and (self._from is None or self._from == channel.sender)
            and (self._kind is None or self._kind == channel.kind)
        )

    def restore(self) -> None:
        self._network.forget(self)
