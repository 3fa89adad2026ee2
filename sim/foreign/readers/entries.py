"""The entries of a Jepsen history, whatever they were written in, before they become transactions.

Each is an invocation or a completion (`ok`, `fail`, `info`) of one process. What the nemesis did
is left out: it belongs to no transaction. Its process is a keyword; JSON, which has none, writes
the word `nemesis`. An entry of a keyword process that has a transaction all the same (its `:f` is
`:txn`, or its value has operations) is no nemesis's: Jepsen gives transactions to numbered
processes only, so what it wrote is in doubt, and it may not vanish. Completions without any
process, as short examples have them, are transactions of which neither the client nor the begin is
known.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from ddlsim.foreign.readers.alike import TYPES, Alike
from ddlsim.foreign.readers.brief import TOO_DEEP, Notation, as_json, edn, is_deep
from ddlsim.foreign.readers.operations import FUNCTIONS, Operations, columns_of, joined
from ddlsim.foreign.readers.problems import Trouble
from ddlsim.graph.history import Array

INVOKE, OK, FAIL, INFO = TYPES.values()

LARGEST: Final = 10**18
TXN: Final = frozenset({":txn", "txn"})
OPERATIONS: Final = re.compile(rb"\[[\s,]*+:(?:r|append|w)[\s,]")
NEMESIS: Final = frozenset({":nemesis", "nemesis"})
USED: Final = ("type", "process", "f", "value", "index")
NAMES: Final = frozenset({":r", "r", ":append", "append", ":w", "w"})


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of a file as columns, in its order, and what of it could not be used.

    `indices` and `times` are -1 where the file has none; `passed` has the indices of entries that
    were passed over. A process below -`LARGEST` is none. `brief` says what texts among the values
    mean.
    """

    types: Array
    processes: Array
    indices: Array
    times: Array
    lines: Array
    operations: Operations
    troubles: list[Trouble]
    passed: list[int]
    notation: Notation

    def __len__(self) -> int:
        return len(self.types)

    def value(self, entry: int) -> Any:
        """The value of an entry: a list of operations `[f, key, value]`, something else, or
        None.
        """
        names = FUNCTIONS if self.notation is edn else tuple(name[1:] for name in FUNCTIONS)
        return self.operations.value(entry, names)


@dataclass(slots=True)
class Entries:
    """The entries of a file while it is read: those read together, and the others one by one.

    `values` has None where an entry has no value. `keywords`: whether the format has keywords; then
    only their processes are left out.
    """

    types: list[int] = field(default_factory=list)
    processes: list[int] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    passed: list[int] = field(default_factory=list)
    keywords: bool = True
    alike: Alike | None = None

    def table(self) -> Table:
        """All of them, by line."""
        columns = [self.types, self.processes, self.indices, self.times, self.lines]
        found = [np.asarray(one, np.int64) for one in columns]
        operations = columns_of(self.values)
        if self.alike is not None and not self.types:
            found, operations = list(self.alike[:5]), self.alike.operations
        elif self.alike is not None:
            found = [np.append(one, more) for one, more in zip(self.alike[:5], found, strict=True)]
            order = np.argsort(found[4], kind="stable")
            found = [one[order] for one in found]
            operations = joined(self.alike.operations, operations).in_order(order)
        types, processes, indices, times, lines = found
        return Table(
            types, processes, indices, times, lines,
            operations, self.troubles, self.passed, self.notation,
        )  # fmt: skip

    @property
    def notation(self) -> Notation:
        """How values are written in the format."""
        return edn if self.keywords else as_json

    def add(
        self, type_: int, process: int, value: Any, index: int, line: int, time: int = -1
    ) -> None:
        """One more entry."""
        self.types.append(type_)
        self.processes.append(process)
        self.values.append(value)
        self.indices.append(index)
        self.times.append(time)
        self.lines.append(line)

    def add_fields(self, fields: dict[str, Any], line: int) -> None:
        """One more entry as it was read, if it is one of a client; else a trouble, or nothing."""
        if is_deep([fields.get(name) for name in USED]):
            self.troubles.append(Trouble(line, f"unreadable entry ({TOO_DEEP})"))
            return
        process, type_ = fields.get("process"), fields.get("type")
        index, time = _counted(fields.get("index")), _counted(fields.get("time"))
        if isinstance(process, str) and self._is_named(process):
            if self._is_passed(process, fields):
                self.passed.append(index)
                return
            what = (
                f"a transaction of process {self.notation(process)}: those of clients have numbers"
            )
            self.troubles.append(Trouble(line, what))
            return
        kind = TYPES.get(str(type_).removeprefix(":"))
        if kind is None:
            known = ", ".join(TYPES)
            what = (
                f"an entry of type {self.notation(type_)}; known: {known}"
                if type_
                else "an entry has no type"
            )
            self.troubles.append(Trouble(line, what))
            return
        if process is None:
            process = -LARGEST - 1 - len(self.types)
            if kind == INVOKE:
                what = "an invocation of no process: which answer is its own is not known"
                self.troubles.append(Trouble(line, what))
                return
        elif type(process) is not int or abs(process) > LARGEST:
            self.troubles.append(
                Trouble(line, f"an entry of no process, but {self.notation(process)}")
            )
            return
        value = fields.get("value")
        self.add(kind, process, value if kind == OK else _asked(value), index, line, time)

    def _is_named(self, process: str) -> bool:
        """Whether a process is one that no client has: any keyword; in JSON the nemesis."""
        return process.startswith(":") if self.keywords else process in NEMESIS

    def _is_passed(self, process: str, fields: dict[str, Any]) -> bool:
        """Whether such a process's entry has no transaction.

        The nemesis may be given what looks like operations, for a function of its own.
        """
        function, value = fields.get("f"), fields.get("value")
        if isinstance(function, str) and function in TXN:
            return False
        if function is None and process not in NEMESIS:
            return value is None
        return not has_operations(value) or (process in NEMESIS and function is not None)


def _counted(value: Any) -> int:
    """An index or a time; -1 for what is none."""
    return value if type(value) is int and 0 <= value <= LARGEST else -1


def _asked(value: Any) -> Any:
    """Operations without an answer; a read may lack the place of its value: `[:r :x]`."""
    if not isinstance(value, list):
        return value
    return [
        [*one, None] if isinstance(one, list) and len(one) == 2 and one[0] in (":r", "r") else one
        for one in value
    ]


def has_operations(value: Any) -> bool:
    """Whether a value has an operation of transactions in it."""
    if isinstance(value, bytes):
        return OPERATIONS.search(value) is not None
    return isinstance(value, list) and any(
        isinstance(one, list) and one and isinstance(one[0], str) and one[0] in NAMES
        for one in value
    )
