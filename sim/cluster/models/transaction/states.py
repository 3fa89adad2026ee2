"""The state of a transaction that its coordinator gives, asked beside each run.

A coordinator is seldom asked for the state of a transaction at the very commit_ts of it, or by a
reader whose timestamp its clock has not come to. So beside each run one is asked, with a read_ts
below, at and above the commit_ts, and above its clock. What commits at read_ts or before is about
to be decided, what commits later is pending; and what is pending without a commit_ts gets one above
read_ts, since the clock is beyond that from the answer on [98.past.3].
"""

from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import when
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.replica_messages import Fate, TxStateRequest
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp, timestamp

TX: Final = TxId(Timestamp(5), 1, "T")
NAMESAKE: Final = TxId(Timestamp(4), 1, "T")
"""Another transaction of the same name, of an earlier life of the node."""
COMMIT_TS: Final = timestamp(7)
READ_TS: Final = (None, *(Timestamp(COMMIT_TS + off) for off in (-1, 0, 1)))
GONE: Final = ("", "aborted", "unlocked")
"""How a transaction that is not open has ended; nothing is kept of one that has committed."""


def compare_states(divergence: Divergence) -> None:
    """Ask for the state of an open transaction, of one that has ended, and of a namesake."""
    for commit_ts, read_ts in product((None, COMMIT_TS), READ_TS):
        found, clock = _asked(TX, Transaction(TX, 0), commit_ts, read_ts)
        later = commit_ts is None or (read_ts is not None and read_ts < commit_ts)
        what = f"the state at {when(read_ts)} of what commits at {when(commit_ts)}"
        divergence.compare(what, found, Fate.PENDING if later else Fate.DECIDING)
        if commit_ts is None and read_ts is not None:
            below = clock.now() <= read_ts
            divergence.compare(f"whether it may commit at {when(read_ts)}", below, expected=False)
    for ended, namesake in product(GONE, (False, True)):
        tx = Transaction(NAMESAKE, 0) if namesake else None
        found, _ = _asked(TX, tx, None, None, ended)
        what = f"the state of what has ended {ended!r}, {namesake=}"
        divergence.compare(what, found, Fate.ABORTED if ended else Fate.UNKNOWN)


def _asked(
    asked: TxId,
    tx: Transaction | None,
    commit_ts: Timestamp | None,
    read_ts: Timestamp | None,
    ended: str = "",
) -> tuple[Fate, HybridClock]:
    """The state that a coordinator gives, whose clock is behind, and its clock."""
    clock = HybridClock(lambda: 1)
    if tx is not None:
        tx.commit_ts = commit_ts
    aborted = {asked.label: Reason.ROLLED_BACK} if ended == "aborted" else {}
    part: Any = SimpleNamespace(
        node=SimpleNamespace(clock=clock),
        _find=lambda label: tx if label == asked.label else None,
        _coordinator=SimpleNamespace(aborted=aborted),
        _unlocked={asked.label: None} if ended == "unlocked" else {},
    )
    request = TxStateRequest(timestamp(1), asked, read_ts)
    return TransactionCompletion._on_state_request(part, "n2", request).state, clock
