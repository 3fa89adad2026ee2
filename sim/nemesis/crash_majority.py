"""A majority of the meta storage's voters crashes at once; healed, they restart."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import RUNNING, Claim, Die, Fault, FaultWorld, check, fault
from ddlsim.nemesis.crash import disk_words


@fault
@dataclass(frozen=True, kw_only=True)
class CrashMajority(Fault):
    """The `nodes` crash, or, where none is named, a random majority of the meta storage's voters.

    With `lose_unsynced` their disks have lost what had not been synced yet, but for the first
    `torn` entries of it. Acknowledged entries that a majority loses are lost, and checkers say so.
    """

    name: ClassVar[str] = "crash_majority"
    summary: ClassVar[str] = "most of the meta storage's voters crash at once"
    targets: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: tuple[str, ...] = ()
    lose_unsynced: bool = False
    torn: int = 0

    @property
    def told(self) -> str:
        nodes = ", ".join(self.nodes) or "most voters of the meta storage"
        many = len(self.nodes) != 1
        words = "crash at once and start again" if many else "crashes and starts again"
        return f"{nodes} {words}{disk_words(self.torn if self.lose_unsynced else None, many=many)}"

    def verify(self) -> None:
        check(self.torn >= 0, "torn", "must not be negative")
        check(self.lose_unsynced or not self.torn, "torn", "needs lose_unsynced = true")

    def decide(self, world: FaultWorld, die: Die) -> Self:
        decided = super().decide(world, die)
        if self.nodes:
            return decided
        left = list(world.voters)
        most = len(left) // 2 + 1
        return replace(decided, nodes=tuple(left.pop(die.below(len(left))) for _ in range(most)))

    def claims(self) -> tuple[Claim, ...]:
        return tuple(Claim(RUNNING, node) for node in self.nodes)

    def begin(self, actions: FaultActions) -> None:
        torn = self.torn if self.lose_unsynced else None
        for node in dict.fromkeys(actions.resolve(name) for name in self.nodes):
            actions.crash(node, torn=torn)
