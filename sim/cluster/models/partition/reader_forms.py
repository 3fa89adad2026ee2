"""What a reader of the past sees of a row with an intent, asked beside each run.

A reader seldom meets an intent that was committed just at its read_ts, or below a version that has
come since. So beside each run one reads a row with an intent of each end: it sees the intent's row
if that was committed at read_ts or before, and no version since then is in force at read_ts; else
the version that is in force [98.past.3].
"""

from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import words
from ddlsim.protocol.commands import Outcome
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.partition.partition import Intent, RowVersion
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.units import Timestamp

READ_TS: Final = Timestamp(10)
TX: Final = TxId(Timestamp(5), 1, "T")
PLACE: Final[PartitionId] = (3, 2)
ENDS: Final = (None, Outcome(None, ()), *(Outcome(Timestamp(at), ()) for at in (8, 9, 10, 11)))
"""How the intent's transaction has ended; None: it will not have committed by read_ts."""
IN_FORCE: Final = (None, 7, 9, 10)
"""When the version that is in force at read_ts was committed."""


def compare_seen(divergence: Divergence) -> None:
    """Read a row with an intent of each end, beside each version in force."""
    intent = Intent(TX, "o", Timestamp(6), 2, (1, "intent"), PLACE)
    for end, at in product(ENDS, IN_FORCE):
        version = None if at is None else RowVersion("w", Timestamp(at), 1, (1, "version"))
        asked: list[object] = []

        async def resolved(*given: object, end: Any = end, asked: Any = asked) -> Any:
            asked.append(given)
            return end

        part: Any = SimpleNamespace(
            node=SimpleNamespace(probe=lambda _: None),
            _replica=SimpleNamespace(participant=SimpleNamespace(resolved=resolved)),
        )
        versions = [] if version is None else [version]
        machine = SimpleNamespace(
            intents={(1,): intent},
            rows={(1,): versions},
            as_of=lambda _key, _ts, version=version: version,
        )
        request: Any = SimpleNamespace(read_ts=READ_TS)
        local: Any = SimpleNamespace(machine=machine)
        found = ended(Readers._seen(part, local, request, (1,)))
        commit_ts = None if end is None else end.commit_ts
        if commit_ts is not None and (at or 0) < commit_ts <= READ_TS:
            due: object = ("T", 2, (1, "intent"))
        else:
            due = (None, 0, None) if version is None else ("w", 1, (1, "version"))
        what = f"what is seen of an intent that has ended {words(end)}, over {words(version)}"
        divergence.compare(what, found, due)
        divergence.compare("whose end is looked for", asked, [(TX, PLACE, READ_TS)])
