"""So many voters crash at once that the meta storage cannot go on; healed, they start again."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import (
    LIFE,
    Claim,
    Dice,
    Fault,
    FaultWorld,
    check,
    fault,
)


@fault
@dataclass(frozen=True, kw_only=True)
class CrashMajority(Fault):
    """The `nodes` crash, or, where none is named, a random majority of the meta storage's voters.

    With `lose_unsynced` their disks have lost what had not been synced yet, but for the first
    `torn` entries of it. Acknowledged entries of a majority that loses them are lost: to say so is
    the right answer, not to pretend.
    """

    name: ClassVar[str] = "crash_majority"
    summary: ClassVar[str] = "most of the meta storage's voters crash at once"
    targets: ClassVar[tuple[str, ...]] = ("nodes",)

    nodes: tuple[str, ...] = ()
    lose_unsynced: bool = False
    torn: int = 0

    def verify(self) -> None:
        check(self.torn >= 0, "torn", "must not be negative")
        check(self.lose_unsynced or not self.torn, "torn", "needs lose_unsynced = true")

    def decide(self, world: FaultWorld, dice: Dice) -> Self:
        decided = super().decide(world, dice)
        if self.nodes:
            return decided
        left = list(world.voters)
        most = len(left) // 2 + 1
        return replace(decided, nodes=tuple(left.pop(dice.below(len(left))) for _ in range(most)))

    def claims(self) -> tuple[Claim, ...]:
        return tuple(Claim(LIFE, node) for node in self.nodes)

    def begin(self, actions: FaultActions) -> None:
        torn = self.torn if self.lose_unsynced else None
        for node in dict.fromkeys(actions.resolve(name) for name in self.nodes):
            actions.crash(node, torn=torn)
