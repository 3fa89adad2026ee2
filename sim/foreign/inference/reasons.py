"""Why one version of a register is held to be older than another, in words.

Facts only: reads and writes, processes, and what had completed before what began.
"""

from collections.abc import Iterator

import numpy as np

from ddlsim.foreign.inference.registers import Registers
from ddlsim.foreign.readers.operations import READ
from ddlsim.graph.edges import ATOMIC, PROCESS, REALTIME, RW, Link
from ddlsim.graph.history import COMMITTED, NONE


class Reasons:
    """Looks up, for an edge that was inferred, what it was inferred from."""

    def __init__(self, registers: Registers) -> None:
        self._registers = registers
        self._history = registers.history

    def of(self, link: Link) -> str:
        """The reason of an edge as a clause; empty where nothing was inferred."""
        older, newer = self._versions(link)
        if older < 0 or newer < 0:
            return ""
        if link.kind & ATOMIC:
            return self._atomic(older, newer)
        if link.kind & REALTIME:
            return self._in_time(older, newer)
        return self._in_process(older, newer) if link.kind & PROCESS else ""

    def _versions(self, link: Link) -> tuple[int, int]:
        key = int(self._history.key[link.why])
        newer = self._installed(key, link.target)
        if link.kind & RW:
            return int(self._registers.version[link.why]), newer
        return self._installed(key, link.source), newer

    def _installed(self, key: int, tx: int) -> int:
        registers = self._registers
        of_key = np.flatnonzero(registers.installed & (registers.of_key == key))
        found = of_key[registers.writer(of_key) == tx]
        return int(found[0]) if len(found) else NONE

    def _touches(self, version: int) -> Iterator[tuple[int, str]]:
        """Transactions that show a version, and how, its writer first."""
        registers, history = self._registers, self._history
        value = registers.value_name(version)
        if registers.installed[version]:
            yield int(history.tx[registers.write[version]]), f"wrote {value}"
        ops = registers.read[registers.version[registers.read] == version]
        for tx in np.unique(history.tx[ops]).tolist():
            yield tx, f"read {value}"

    def _in_time(self, older: int, newer: int) -> str:
        history = self._history
        for one, did in self._touches(older):
            for other, also in self._touches(newer):
                if 0 <= history.end[one] < history.begin[other]:
                    return (
                        f"{history.name(one)}, which {did}, had completed before "
                        f"{history.name(other)}, which {also}, was invoked"
                    )
        return ""

    def _in_process(self, older: int, newer: int) -> str:
        history = self._history
        for one, did in self._touches(older):
            for other, also in self._touches(newer):
                same = history.process[one] == history.process[other]
                known = history.status[one] == COMMITTED and history.begin[one] >= 0
                if same and known and history.begin[one] < history.begin[other]:
                    process = int(history.process[one])
                    return (
                        f"process {process} {did} in {history.name(one)}, and after that {also} "
                        f"in {history.name(other)}"
                    )
        return ""

    def _atomic(self, older: int, newer: int) -> str:
        registers, history = self._registers, self._history
        writer = int(history.tx[registers.write[older]])
        for reader, did in self._touches(newer):
            if not did.startswith("read"):
                continue
            ops = registers.read[history.tx[registers.read] == reader]
            wrote = registers.write[registers.version[ops]]
            of_writer = ops[(wrote >= 0) & (history.tx[np.maximum(wrote, 0)] == writer)]
            if len(of_writer) and writer != reader and history.kind[of_writer[0]] == READ:
                version = int(registers.version[of_writer[0]])
                return (
                    f"{history.name(reader)} {did}, although it saw {history.name(writer)} (it "
                    f"read {registers.value_name(version)} at key {registers.key_name(version)})"
                )
        return ""
