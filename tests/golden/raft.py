"""Golden stories of Raft: lines that begin with `>` are commands, the rest is what they led to.

    python -m tests.golden.raft --write     renews the outputs; review the difference

Commands: `group VOTERS [LEARNERS] [slow]`, `NODE election-timeout|propose|heartbeat|resend|compact|
step-down|silence|crash [TORN]|restart|synced|show`, `NODE transfer TO`, `deliver FROM TO [NUMBER]`,
`lose FROM TO`, `settle`. Voters are v0, v1, ..., learners l0, l1, ...; v0 leads from the beginning.
A node hears its leader until `silence`, or its own election timeout, and again once it is sent to.
`deliver` takes everything between the two unless told how much. Entries are `term:command`. The
laws of Raft are watched meanwhile.
"""

import sys
from pathlib import Path
from random import Random
from typing import Any

from ddlsim.protocol.raft import AppendEntries, InstallSnapshot, Member
from ddlsim.units import Timestamp
from tests.support.raft_world import Machine, World

FOLDER = Path(__file__).parent / "raft"


def worded(message: Any) -> str:
    """A message in one short line; what is zero or false goes without saying."""
    words = [type(message).__name__]
    for field in type(message).__struct_fields__:
        value = getattr(message, field)
        if type(message) is AppendEntries and field == "entries":
            words.append(entries_worded(value))
        elif type(message) is InstallSnapshot and field == "state":
            words.append(f"state={entries_worded(value)}")
        elif value or field in ("granted", "success"):
            words.append(f"{field}={value}")
    return " ".join(words)


def entries_worded(entries: Any) -> str:
    """Entries as they stand in a story."""
    return f"[{' '.join(f'{entry.term}:{entry.command}' for entry in entries)}]"


class Stage:
    """A group, and what is told of it."""

    def __init__(self) -> None:
        self.world = World(Random(0), 1, 0)
        self.slow = False
        self.silent: dict[str, None] = {}
        self.told: list[str] = []
        self.known: dict[str, tuple[str, int]] = {}

    def do(self, line: str) -> list[str]:
        """Carry out a command; what came of it."""
        self.told = []
        world = self.world
        before = list(world.network)
        match line.split():
            case ["group", voters, *rest]:
                learners = rest[0] if rest and rest[0].isdigit() else "0"
                self._open(int(voters), int(learners), slow="slow" in rest)
            case ["deliver", sender, to, *number]:
                assert self._deliver(sender, to, int(number[0]) if number else 99), line
            case ["lose", sender, to]:
                world.network = [x for x in world.network if x[:2] != (sender, to)]
            case ["settle"]:
                self._settle()
            case [name, what, *rest]:
                self._act(world.machines[name], what, rest)
            case _:
                raise AssertionError(line)
        self.world.matching()
        if line.split(maxsplit=1)[0] not in ("group", "settle"):
            for letter in self.world.network:
                if not any(letter is each for each in before):
                    self.told.append(f"  {letter[0]} -> {letter[1]} {worded(letter[2])}")
        self._tell_changes()
        return self.told

    def _open(self, voters: int, learners: int, *, slow: bool) -> None:
        """A new group; what its leader says at once is not told."""
        self.world = World(Random(0), voters, learners)
        self.slow = slow
        self.world.network.clear()
        for machine in self.world.machines.values():
            self._listen(machine)

    def _listen(self, machine: Machine) -> None:
        machine.member.hears_leader = lambda: machine.name not in self.silent

    def _after(self, machine: Machine) -> None:
        self.world.after(machine, slow=self.slow)

    def _deliver(self, sender: str, to: str, most: int) -> int:
        letters = [x for x in self.world.network if x[:2] == (sender, to)][:most]
        for letter in letters:
            self._hand(letter)
        return len(letters)

    def _hand(self, letter: tuple[str, str, Any]) -> None:
        """One message arrives, unless its receiver is down."""
        world = self.world
        world.network = [x for x in world.network if x is not letter]
        sender, to, message = letter
        machine = world.machines[to]
        if machine.up:
            machine.member.step(sender, message)
            if machine.member.leader == sender:
                self.silent.pop(to, None)
            self._after(machine)

    def _settle(self) -> None:
        """Everything arrives, and all that follows from it."""
        for _ in range(1000):
            if not self.world.network:
                return
            self._hand(self.world.network[0])
        raise AssertionError("it does not settle")

    def _act(self, machine: Machine, what: str, rest: list[str]) -> None:
        world, member = self.world, machine.member
        match what:
            case "show":
                self._show(machine)
            case "silence":
                self.silent[machine.name] = None
            case "crash":
                machine.up, machine.writing = False, []
                machine.log.lose_unsynced(int(rest[0]) if rest else 0)
                self.known.pop(machine.name, None)
                return
            case "restart":
                world.restart(machine)
                self._listen(machine)
            case "synced":
                member.end_sync(machine.writing.pop(0))
            case "propose":
                world.commands += 1
                member.propose(world.commands)
            case "transfer":
                member.transfer_to(rest[0], lambda: Timestamp(7))
            case "compact":
                member.compact(len(machine.applied), tuple(machine.applied), 0)
            case "election-timeout":
                self.silent[machine.name] = None
                member.election_timeout()
            case _:
                self._other(member, what)
        self._after(machine)

    @staticmethod
    def _other(member: Member, what: str) -> None:
        assert what in ("heartbeat", "resend", "step-down"), what
        getattr(member, what.replace("-", "_"))()

    def _show(self, machine: Machine) -> None:
        log = machine.log
        self.told.append(
            f"  {machine.name}: term {log.term}, vote {log.voted_for}, snapshot "
            f"{log.snapshot_index}, log {entries_worded(log.entries)}, safe {log.synced_index}, "
            f"applied {entries_worded(machine.applied)}"
        )

    def _tell_changes(self) -> None:
        for name, machine in self.world.machines.items():
            member = machine.member
            now = (f"{member.role.value} in term {member.term}", member.commit_index)
            if machine.up and self.known.get(name) != now:
                self.known[name] = now
                self.told.append(f"  {name} is {now[0]}, committed {now[1]}")


def story(path: Path) -> str:
    """A story told anew from its commands."""
    stage, lines = Stage(), []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith(">"):
            lines += [line, *stage.do(line[1:])]
        elif line.startswith("#"):
            lines.append(line)
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Renew what differs, or only tell."""
    different = [p for p in sorted(FOLDER.glob("*.txt")) if story(p) != p.read_text("utf-8")]
    for path in different:
        if "--write" in arguments:
            path.write_text(story(path), "utf-8")
        sys.stdout.write(f"{path.name}\n")
    return 1 if different and "--write" not in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
