"""Histories whose versions may stand in several orders: is there one that explains everything?

Lists leave open where appends stand that no read shows, registers nearly everything. First one
likely order is tried for all; if that does not do, `solver` looks for one, or shows that there is
none: then the orders that follow contradict each other, which is reported as `cyclic-versions`.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from ddlsim.foreign.inference import solver
from ddlsim.foreign.inference.inference import Finding, Found, is_snapshot, session_edges
from ddlsim.foreign.inference.lists import Lists, open_choices
from ddlsim.foreign.inference.registers import Registers
from ddlsim.foreign.inference.solver import Answer, Choice, Option
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.edges import RW, WW, Edges, compact, edges, joined
from ddlsim.graph.history import NONE, Array
from ddlsim.graph.models import Model
from ddlsim.graph.residue import Span, components_of

MOST_NAMED: Final = 6
FOREVER: Final = int(np.iinfo(np.int64).max)

Worded = Callable[[Choice, int], str]


class Settled(NamedTuple):
    """Whether an order exists, None if undecided; and the findings that show that none does."""

    valid: bool | None
    found: tuple[Finding, ...] = ()


def span_of(history: Transactions, node: Array) -> Span:
    """When nodes began and ended, as real time counts it."""
    end = np.where(node & (history.end >= 0), history.end, FOREVER)
    return Span(np.where(node, history.begin, NONE), end)


def of_registers(mine: Registers, model: Model) -> Settled:
    """Whether the versions of registers can be ordered."""
    nodes = np.flatnonzero(mine.node)
    versions = np.flatnonzero(mine.installed)
    pairs = sum(int(n) * (int(n) - 1) // 2 for n in np.bincount(mine.of_key[versions]))
    if len(nodes) > solver.MOST_NODES or pairs > solver.MOST_CHOICES:
        return Settled(None)
    readers: dict[int, set[int]] = {}
    for op in mine.read.tolist():
        readers.setdefault(int(mine.version[op]), set()).add(int(mine.history.tx[op]))
    writer = {version: int(mine.history.tx[mine.write[version]]) for version in versions.tolist()}
    of_key: dict[int, list[int]] = {}
    for version in versions.tolist():
        of_key.setdefault(int(mine.of_key[version]), []).append(version)
    anti = [
        (reader, writer[version])
        for state in np.flatnonzero(mine.initial).tolist()
        for reader in readers.get(state, ())
        for version in of_key.get(int(mine.of_key[state]), ())
    ]
    choices = [
        Choice(_before(one, other, writer, readers), _before(other, one, writer, readers),
               (one, other))
        for group in of_key.values()
        for one, other in combinations(group, 2)
    ]  # fmt: skip

    def worded(choice: Choice, way: int) -> str:
        one, other = choice.about[way], choice.about[1 - way]
        key = mine.key_name(one)
        return f"{mine.value_name(one)} before {mine.value_name(other)} at key {key}"

    return _solved(mine.history, nodes, [mine.wr()], anti, choices, model, worded)


def _before(one: int, other: int, writer: dict[int, int], readers: dict[int, set[int]]) -> Option:
    """One version before another: its writer and its readers before the other's writer."""
    anti = [(reader, writer[other]) for reader in sorted(readers.get(one, ()))]
    return Option(
        ((writer[one], writer[other]),), tuple(pair for pair in anti if pair[0] != pair[1])
    )


def of_lists(mine: Lists, found: Found, model: Model) -> Settled:
    """Whether appends that no read shows can be ordered, beside the edges that were found."""
    history, node = mine.history, found.node
    choices = open_choices(mine, node, solver.MOST_CHOICES)
    if choices is None:
        return Settled(None)
    ends = np.asarray([choice.one.plain[0] for choice in choices], np.int64).reshape(-1, 2)
    both = [edges(ends[:, 0], ends[:, 1], WW), edges(ends[:, 1], ends[:, 0], WW)]
    sessions = [session_edges(history, node)] if model.level else []
    whole = [compact(one, len(history)) for one in [*found.blocks, *sessions, *both]]
    span = span_of(history, node) if model.level > 1 else None
    parts: list[Settled] = []

    def worded(choice: Choice, way: int) -> str:
        pair = (choice.one, choice.other)[way].plain[0]
        one, other = map(history.name, pair)
        key = mine.key_name(choice.about[0])
        return f"{one} before {other} in what is appended to key {key}"

    for part in components_of(len(history), whole, span):
        inside = set(part.tolist())
        here = [one for one in choices if set(one.one.plain[0]) <= inside]
        if here:
            parts.append(_solved(history, part, found.blocks, [], here, model, worded))
    if any(one.valid is False for one in parts):
        return Settled(valid=False, found=tuple(finding for one in parts for finding in one.found))
    return Settled(None if any(one.valid is None for one in parts) else True)


def _solved(
    history: Transactions,
    nodes: Array,
    blocks: list[Edges],
    anti: list[tuple[int, int]],
    choices: list[Choice],
    model: Model,
    worded: Worded,
) -> Settled:
    if len(nodes) > solver.MOST_NODES:
        return Settled(None)
    number = {node: at for at, node in enumerate(nodes.tolist())}
    mask = np.zeros(len(history), np.bool_)
    mask[nodes] = True
    all_blocks = [*blocks, session_edges(history, mask)] if model.level else blocks
    known = joined([compact(one, len(history)) for one in all_blocks])
    known = known.take(mask[known.source] & mask[known.target])
    plain = [
        (number[source], number[target]) for source, target, kind in _rows(known) if not kind & RW
    ]
    rw = [(number[a], number[b]) for a, b, kind in _rows(known) if kind & RW]
    rw += [(number[a], number[b]) for a, b in anti if a != b]
    if model.level > 1:
        plain += _in_time(history, nodes)
    numbered = [
        Choice(_numbered(one.one, number), _numbered(one.other, number), (at,))
        for at, one in enumerate(choices)
    ]
    answer = solver.solve(len(nodes), plain, rw, numbered, apart=is_snapshot(model))
    if answer.valid is not False:
        return Settled(answer.valid)
    finding = _finding(history, nodes, answer, choices, model, worded)
    return Settled(valid=False, found=(finding,))


def _rows(known: Edges) -> list[tuple[int, int, int]]:
    columns = (known.source, known.target, known.kind)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _numbered(option: Option, number: dict[int, int]) -> Option:
    return Option(*(tuple((number[a], number[b]) for a, b in pairs) for pairs in option))


def _in_time(history: Transactions, nodes: Array) -> list[tuple[int, int]]:
    """Every two of which one had ended before the other began."""
    begin, end = history.begin[nodes], history.end[nodes]
    before = (end[:, None] >= 0) & (end[:, None] < begin[None, :])
    return [(int(a), int(b)) for a, b in np.argwhere(before)]


def _finding(
    history: Transactions, nodes: Array, answer: Answer, choices: list[Choice], model: Model,
    worded: Worded,
) -> Finding:  # fmt: skip
    """What follows, what contradicts that, and the transactions that take part."""

    def around(cycle: tuple[int, ...]) -> str:
        names = [history.name(int(nodes[at])) for at in cycle]
        return " < ".join([*names, *names[:1]]) or "one another"

    parties: set[int] = set()
    lines = [f"under {model.name} the orders that follow contradict each other:"]
    for forced in answer.forced[:MOST_NAMED]:
        said = worded(choices[forced.choice.about[0]], forced.way)
        lines.append(f"{said}; the other way closes {around(forced.cycle)}")
        parties.update(forced.cycle)
    if len(answer.forced) > MOST_NAMED:
        lines.append(f"... and {len(answer.forced) - MOST_NAMED} more")
    if answer.clash is not None:
        choice, one, other = answer.clash
        asked = choices[choice.about[0]]
        lines.append(f"{worded(asked, 0)} closes {around(one)}")
        lines.append(f"{worded(asked, 1)} closes {around(other)}")
        parties.update(one, other)
    else:
        lines.append(f"of the rest {answer.tried} orders were tried, and none is left")
    txns = tuple(sorted(int(nodes[at]) for at in parties)) or tuple(nodes.tolist())
    return Finding("cyclic-versions", txns[:12], "\n".join(lines), weakest=model.name)
