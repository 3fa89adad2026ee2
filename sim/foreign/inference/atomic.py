"""Registers and read-atomic: which reads saw a part of a transaction, and when no order explains
them.

A transaction that saw one write of another saw all of it; so what that one wrote elsewhere is older
than what was read there instead. These orders and those of writers before readers are all that
read-atomic asks for: it holds if and only if together they make no cycle. A cycle with one such
order shows a fractured read: what was read is older after all. One with several shows that some
read is fractured, and not which. (Bailis et al., SIGMOD 2014; Cerone, Bernardi, Gotsman, CONCUR
2015: the axioms INT and EXT, for some total order of arbitration.)
"""

from dataclasses import replace

import numpy as np

from ddlsim.foreign.inference.inference import MOST_FOUND, Finding, rank_of
from ddlsim.foreign.inference.registers import Registers, in_reads
from ddlsim.graph.cycles import Cycle, find_cycles
from ddlsim.graph.edges import ATOMIC, WW, edges


def fractured(registers: Registers) -> tuple[list[Finding], list[Cycle]]:
    """Reads of a part of a transaction, and cycles that show one."""
    history = registers.history
    pairs, readers = in_reads(registers)
    found = []
    for at in np.flatnonzero(registers.initial[pairs.newer])[:MOST_FOUND].tolist():
        missed = int(registers.write[pairs.older[at]])
        reader, writer = int(readers[at]), int(history.tx[missed])
        key = registers.key_name(int(pairs.older[at]))
        said = (
            f"{history.name(reader)} saw a value that {history.name(writer)} wrote, but at key "
            f"{key} the initial state, and not what {history.name(writer)} wrote there"
        )
        found.append(Finding("fractured-read", tuple(sorted((reader, writer))), said, missed))
    kept = registers.installed[pairs.newer]
    older, newer = pairs.older[kept], pairs.newer[kept]
    forced = edges(
        registers.writer(older), registers.writer(newer), WW | ATOMIC, registers.write[newer]
    )
    blocks = [registers.wr(), forced]
    search = find_cycles(len(history), blocks, rank=rank_of(history), model="read-committed")
    named = [_named(one) for one in search.cycles if any(link.kind & ATOMIC for link in one.links)]
    plain = [one for one in named if one.type == "fractured-read"]
    return found, plain or ([] if found else named)


def _named(cycle: Cycle) -> Cycle:
    if sum(bool(link.kind & ATOMIC) for link in cycle.links) == 1:
        return replace(cycle, type="fractured-read")
    return replace(cycle, type="cyclic-versions", weakest="read-atomic")
