"""What the reads of a register history show that is no cycle."""

from itertools import pairwise

import numpy as np

from ddlsim.foreign.inference.inference import (
    MOST_FOUND,
    Finding,
    Found,
    by_transaction,
    most_of_each,
)
from ddlsim.foreign.inference.registers import Registers, updates
from ddlsim.foreign.readers.operations import READ
from ddlsim.graph.history import ABORTED, COMMITTED


def find(registers: Registers, found: Found) -> None:
    """Add every kind of finding."""
    found.findings += _reads(registers)
    found.findings += _updates(registers)
    found.findings += most_of_each(_internal(registers))


def _what(registers: Registers, op: int) -> str:
    history = registers.history
    key = history.key_text(op)
    return f"{history.value_text(op)} at key {key}"


def _reads(registers: Registers) -> list[Finding]:
    """Reads of values never written, of aborted transactions, or of intermediate states."""
    history, op = registers.history, registers.read
    version = registers.version[op]
    write = registers.write[version]
    by = history.tx[np.maximum(write, 0)]
    written = write >= 0
    garbage = ~written & ~registers.initial[version]
    aborted = written & (history.status[by] == ABORTED)
    intermediate = written & ~aborted & ~registers.is_last[np.maximum(write, 0)]
    found = []
    for type_, wrong, why in (
        ("garbage-read", garbage, "which no transaction wrote"),
        ("G1a", aborted, "which {} wrote and failed"),
        ("G1b", intermediate, "which {} wrote before it wrote another value there"),
    ):
        for at in np.flatnonzero(wrong)[:MOST_FOUND].tolist():
            reader, writer = int(history.tx[op[at]]), int(by[at])
            txns = (reader,) if type_ == "garbage-read" else tuple(sorted((reader, writer)))
            said = f"{history.name(reader)} read {_what(registers, int(op[at]))}, "
            said += why.format(history.name(writer))
            found.append(Finding(type_, txns, said, int(op[at])))
    return found


def _updates(registers: Registers) -> list[Finding]:
    """Two updates of one version, and updates of a version of an aborted transaction."""
    history = registers.history
    reads, _ = updates(registers)
    reads = reads[history.status[history.tx[reads]] == COMMITTED]
    version = registers.version[reads]
    order = np.lexsort((history.tx[reads], version))
    reads, version = reads[order], version[order]
    same = (version[1:] == version[:-1]) & (history.tx[reads][1:] != history.tx[reads][:-1])
    found = []
    for at in np.flatnonzero(same)[:MOST_FOUND].tolist():
        one, other = int(history.tx[reads[at]]), int(history.tx[reads[at + 1]])
        said = (
            f"{history.name(one)} and {history.name(other)} both read "
            f"{_what(registers, int(reads[at]))}, and both wrote that key: one did not see "
            "the other"
        )
        found.append(Finding("lost-update", (one, other), said, int(reads[at])))
    write = registers.write[version]
    by = history.tx[np.maximum(write, 0)]
    for at in np.flatnonzero((write >= 0) & (history.status[by] == ABORTED))[:MOST_FOUND].tolist():
        one, other = int(history.tx[reads[at]]), int(by[at])
        said = (
            f"{history.name(one)} wrote upon {_what(registers, int(reads[at]))}, which "
            f"{history.name(other)} wrote and failed"
        )
        found.append(Finding("dirty-update", tuple(sorted((one, other))), said, int(reads[at])))
    return found


def _internal(registers: Registers) -> list[Finding]:
    """Transactions whose reads contradict what they read or wrote before."""
    history = registers.history
    found = []
    for ops in by_transaction(history):
        own, seen = -1, set()
        for before, op in pairwise(ops):
            own = before if history.kind[before] != READ else own
            if history.kind[op] != READ:
                continue
            wrong = {"internal": before, "missed-own-write": own}
            for type_, other in wrong.items():
                if other < 0 or type_ in seen or registers.version[op] == registers.version[other]:
                    continue
                seen.add(type_)
                tx = int(history.tx[op])
                did = "read" if history.kind[other] == READ else "wrote"
                said = (
                    f"{history.name(tx)} {did} {_what(registers, other)}, and then read "
                    f"{history.value_text(op)} there"
                )
                found.append(Finding(type_, (tx,), said, op))
    return found + _too_early(registers)


def _too_early(registers: Registers) -> list[Finding]:
    """Transactions that read what they wrote only later."""
    history = registers.history
    reads = np.flatnonzero(history.kind == READ)
    write = registers.write[registers.version[reads]]
    early = (write > reads) & (history.tx[np.maximum(write, 0)] == history.tx[reads])
    found = []
    for op in reads[early].tolist():
        tx = int(history.tx[op])
        said = f"{history.name(tx)} read {_what(registers, op)} before it wrote that"
        found.append(Finding("future-read", (tx,), said, op))
    return found
