"""What a fault may do to a cluster: the contract for authors of faults.

Every fault in progress is given a `FaultActions` of its own. It remembers what was done through it,
and `undo` takes back just that, latest first; what other faults do at the same time stays.

Nodes are given by name: `resolve` turns a role into one. None for a sender, receiver or kind of
message means any, clients included; a name that there is not raises `ValueError`. Times are
simulated microseconds.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, Protocol

from ddlsim.units import Micros


class Fate(NamedTuple):
    """What becomes of one message: lost, `by_us` late, or delivered again `by_us` later."""

    what: Literal["lost", "late", "doubled"]
    by_us: Micros = Micros(0)


class FaultActions(Protocol):
    """The actions of one fault in progress."""

    def nodes(self) -> Sequence[str]:
        """The names of all nodes, in the scenario's order."""

    def resolve(self, role: str) -> str:
        """The node that plays a role now; a node's name stands for itself.

        Raises `VacantRoleError` if no node plays it.
        """

    def later(self, by_us: Micros, call: Callable[[], None]) -> None:
        """Call `call` after `by_us`, unless `undo` is called before."""

    # --- messages ---------------------------------------------------------------------------------

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        """Deliver matching messages `by_us` later."""

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """Keep matching messages back; `undo` delivers them, in order."""

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        """Lose matching messages."""

    def cut_off(self, node: str) -> None:
        """Lose all messages between this node and the others."""

    def reconnect(self, node: str) -> None:
        """Take back `cut_off` of this node."""

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
        """Lose, duplicate or reorder matching messages with these probabilities; None: as now."""

    def strike_next(
        self, fate: Fate, *, count: int, sender: str | None, to: str | None, kind: str
    ) -> None:
        """Give the next `count` matching messages this fate; the fault then ends by itself."""

    def strike_its_message(self, fate: Fate) -> None:
        """Give the message at whose sending the fault begins this fate; the fault then ends."""

    # --- machines ---------------------------------------------------------------------------------

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        """Move a node's physical clock by `by_us`; `undo` moves it back if `returns`."""

    def clock_beyond(self, node: str, by_us: int) -> None:
        """Set a node's clock `by_us` further from true time than CSmax: ahead, or behind if < 0."""

    def clock_drift(self, node: str, ppm: int) -> None:
        """Set the drift of a node's clock; `undo` restores the rate but not the time gained."""

    def pause(self, node: str) -> None:
        """Stop a node's tasks, timers and deliveries; `undo` resumes them."""

    def crash(self, node: str, *, torn: int | None) -> None:
        """Crash a node; `undo` restarts it with its disk.

        If `torn` is a number, each log on the disk has lost its unsynced entries but the first
        `torn` of them.
        """

    def slow_disk(self, node: str, by_us: Micros) -> None:
        """Make every sync of a node's disk take `by_us` more."""

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        """Make a node apply meta storage commands `delay_us` later at one stage.

        The stages are `log`, `catalog` and `listener`.
        """

    def set_setting(self, node: str, key: str, value: int) -> None:
        """Change a setting of a node; of overlapping changes the latest one counts."""

    # --- groups and leases ------------------------------------------------------------------------

    def transfer(self, group: str, to: str | None) -> None:
        """Make the leader of a group hand over to node `to`, or to its next voter."""

    def re_elect(self, group: str, rival: int) -> None:
        """Make the leader of a group step down and be elected again, in a new term.

        Of its other voters the one with the number `rival` stands too; 0: none.
        """

    def expire_lease(self, place: str) -> None:
        """Stop renewing the present lease of a partition (`t/0`)."""

    # --- the end ----------------------------------------------------------------------------------

    def undo(self) -> None:
        """Take back everything that this fault did, latest first; a second call does nothing."""
