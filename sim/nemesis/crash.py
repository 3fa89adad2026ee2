"""A node crashes, and starts again when the fault heals.  [98.x.7]"""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import RUNNING, Claim, Fault, check, fault


def disk_words(torn: int | None, *, many: bool) -> str:
    """With what a node starts again; `torn` None: its disk has lost nothing."""
    disk = "their disks" if many else "its disk"
    if torn is None:
        return f" with {disk}"
    entries = f"the first {torn} entries" if torn > 1 else "the first entry"
    return f" without what {disk} had not synced" + (f", but for {entries} of it" if torn else "")


@fault
@dataclass(frozen=True, kw_only=True)
class Crash(Fault):
    """The node loses its memory and keeps its disk and clock; healed, it restarts.

    With `lose_unsynced` the disk has lost what had not been synced yet, but for the first `torn`
    entries of it.
    """

    name: ClassVar[str] = "crash"
    summary: ClassVar[str] = "a node crashes and starts again with its disk"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    lose_unsynced: bool = False
    torn: int = 0

    @property
    def told(self) -> str:
        lost = disk_words(self.torn if self.lose_unsynced else None, many=False)
        return f"{self.node} crashes and starts again{lost}"

    def verify(self) -> None:
        check(self.torn >= 0, "torn", "must not be negative")
        check(self.lose_unsynced or not self.torn, "torn", "needs lose_unsynced = true")

    def claims(self) -> tuple[Claim, ...]:
        return (Claim(RUNNING, self.node),)

    def begin(self, actions: FaultActions) -> None:
        torn = self.torn if self.lose_unsynced else None
        actions.crash(actions.resolve(self.node), torn=torn)
