"""Which workload a history is of: lists that are appended to, or registers that are written."""

from typing import Final

import numpy as np

from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.readers.transactions import (
    APPEND,
    READ,
    WRITE,
    Transactions,
)

LIST: Final = "list-append"
REGISTER: Final = "rw-register"


def workload_of(history: Transactions, path: str) -> str:
    """The workload; `ForeignError` naming the first operation that does not go with the others."""
    appends = np.flatnonzero(history.kind == APPEND)
    writes = np.flatnonzero(history.kind == WRITE)
    if len(appends) and len(writes):
        op = int(max(appends[0], writes[0]))
        raise _mixed(history, path, op, "both appends and writes stand in this history")
    reads = np.flatnonzero(history.kind == READ).tolist()
    of_lists = [isinstance(history.value[op], list) for op in reads]
    whole = [history.value[op] is None for op in reads]
    if len(appends):
        for op, listed, none in zip(reads, of_lists, whole, strict=True):
            if not listed and not none:
                raise _mixed(history, path, op, "a list was expected where lists are appended to")
        return LIST
    if len(writes):
        return REGISTER
    if reads and all(map(max, of_lists, whole)) and any(of_lists):
        return LIST
    return REGISTER


def _mixed(history: Transactions, path: str, op: int, why: str) -> ForeignError:
    tx = int(history.tx[op])
    line = history.lines[int(history.entry[tx])]
    name = {READ: "r", APPEND: "append", WRITE: "w"}[int(history.kind[op])]
    shown = history.operation(name, op)
    return ForeignError(path, line, f"{history.name(tx)}: {shown}: {why}")
