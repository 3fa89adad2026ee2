"""Which workload a history is of: lists that are appended to, or registers that are written."""

from typing import Final

import numpy as np

from ddlsim.foreign.readers.operations import APPEND, FUNCTIONS, LISTED, ONE, READ, WRITE
from ddlsim.foreign.readers.problems import ForeignError
from ddlsim.foreign.readers.transactions import Transactions

LIST: Final = "list-append"
REGISTER: Final = "rw-register"


def workload_of(history: Transactions, path: str) -> str:
    """The workload; `ForeignError` naming the first operation that does not go with the others."""
    appends = np.flatnonzero(history.kind == APPEND)
    writes = np.flatnonzero(history.kind == WRITE)
    if len(appends) and len(writes):
        op = int(max(appends[0], writes[0]))
        raise _mixed(history, path, op, "both appends and writes stand in this history")
    form = history.form[history.kind == READ]
    if len(appends):
        single = np.flatnonzero((history.kind == READ) & (history.form == ONE))
        if len(single):
            why = "a list was expected where lists are appended to"
            raise _mixed(history, path, int(single[0]), why)
        return LIST
    if not len(writes) and bool((form == LISTED).any()) and not bool((form == ONE).any()):
        return LIST
    return REGISTER


def _mixed(history: Transactions, path: str, op: int, why: str) -> ForeignError:
    tx = int(history.tx[op])
    line = int(history.lines[int(history.entry[tx])])
    shown = history.operation(FUNCTIONS[int(history.kind[op])].removeprefix(":"), op)
    return ForeignError(path, line, f"{history.name(tx)}: {shown}: {why}")
