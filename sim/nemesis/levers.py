"""The levers: all that a fault may touch. Every fault is given levers of its own.

None for a sender, receiver or kind of message means any, clients included. Nodes are plain names
here; `resolve` turns roles into them. What is done through levers is remembered by them, and
`release` undoes it.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ddlsim.units import Micros


class Levers(Protocol):
    """One fault's grip on the cluster."""

    def nodes(self) -> Sequence[str]:
        """Every node, in order."""

    def resolve(self, role: str) -> str:
        """The node that a role means at this instant, or `NobodyError`; a name means itself."""

    def later(self, by_us: Micros, call: Callable[[], None]) -> None:
        """Do something else after a while, unless the levers are released before."""

    # --- messages ---------------------------------------------------------------------------------

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        """From now on matching messages take so much longer."""

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are kept back; released, they arrive in order."""

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """From now on matching messages are lost."""

    def cut_off(self, node: str) -> None:
        """From now on no other node hears this one, nor it them."""

    def reconnect(self, node: str) -> None:
        """Take back what `cut_off` did to this node."""

    def set_link_profile(
        self,
        *,
        sender: str | None,
        to: str | None,
        kind: str | None,
        loss: float | None = None,
        duplication: float | None = None,
        reordering: float | None = None,
    ) -> None:
        """From now on matching messages are lost, doubled or overtaken with this probability."""

    # --- machines ---------------------------------------------------------------------------------

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        """A node's clock jumps; where it `returns`, `release` makes it jump back."""

    def clock_beyond(self, node: str, by_us: int) -> None:
        """A node's clock shows CSmax and so much more than the true time, or less if negative."""

    def clock_drift(self, node: str, ppm: int) -> None:
        """A node's clock runs at another rate; `release` gives it its old rate back."""

    def pause(self, node: str) -> None:
        """A node stands still; `release` lets it go on."""

    def crash(self, node: str, *, torn: int | None) -> None:
        """A node stops being; `release` starts it again with its disk.

        Where `torn` is a number, what had not been synced is lost but for so many entries.
        """

    def slow_disk(self, node: str, by_us: Micros) -> None:
        """A node's disk takes so much longer to sync."""

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        """A node applies the meta storage more slowly, at stage `log`, `catalog` or `listener`."""

    def set_setting(self, node: str, key: str, value: int) -> None:
        """A node's setting is another; `release` puts the old value back."""

    # --- groups and leases ------------------------------------------------------------------------

    def transfer(self, group: str, to: str | None) -> None:
        """The leader of a group hands over, to this node or to its next voter."""

    def re_elect(self, group: str) -> None:
        """The leader of a group steps down and is elected again."""

    def expire_lease(self, place: str) -> None:
        """The lease of a partition is not prolonged any more; `release` lets it be."""

    def release(self) -> None:
        """Undo what was done through these levers, latest first."""
