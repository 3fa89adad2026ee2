"""Jepsen's histories: read, inferred by their workload, searched for cycles, reported.

Graph, search and the models' names are those of `ddlsim.graph`; here is only what a history
without timestamps and version orders needs more: what may be inferred, and when the answer is
"unknown".
"""

import gc
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from ddlsim.files import disguise
from ddlsim.foreign.inference import list_append, rw_register
from ddlsim.foreign.inference.inference import MOST_FOUND, Finding, Found, weaker_than
from ddlsim.foreign.readers import edn, json_lines
from ddlsim.foreign.readers.alike import Text
from ddlsim.foreign.readers.entries import LARGEST
from ddlsim.foreign.readers.problems import ForeignError, contents, trouble_lines
from ddlsim.foreign.readers.transactions import Transactions, transactions_of
from ddlsim.foreign.readers.workloads import LIST, workload_of
from ddlsim.foreign.report import Report, of_verdict
from ddlsim.foreign.words import Words
from ddlsim.graph.cycles import Cycle
from ddlsim.graph.history import ABORTED, COMMITTED, UNKNOWN, Array
from ddlsim.graph.models import MODELS, Model, model_of
from ddlsim.graph.names import SUFFIXES, split
from ddlsim.graph.verdict import NOTHING, Answer, Verdict, counts_of, first_of_each

HEAD: Final = 4096
VISIBLE: Final = re.compile(rb"\S")
LOSS: Final = "lost-update"
MADE_OF_WRITES: Final = ("G0", "G1c")
NOTHING_ELSE: Final[Mapping[str, str]] = {}


class Judged(NamedTuple):
    """A verdict and the history that it is about."""

    verdict: Verdict
    workload: str
    history: Transactions

    @property
    def counts(self) -> dict[str, int]:
        """How many transactions ended in each way."""
        status = self.history.status
        return {
            "committed": int((status == COMMITTED).sum()),
            "failed": int((status == ABORTED).sum()),
            "unknown": int((status == UNKNOWN).sum()),
        }


def recognises(head: bytes) -> bool:
    """Whether a file that begins so is a Jepsen history."""
    head = head.removeprefix(BOM_UTF8)
    return edn.is_edn(head) or json_lines.is_json(head)


def load(path: str) -> Transactions:
    """The transactions of a file; `ForeignError` if there is nothing to be judged in it."""
    return parse(contents(path, "Jepsen history"), path)


def parse(data: Text, path: str = "history") -> Transactions:
    """The same from its bytes; `path` is only what errors call it."""
    if VISIBLE.search(data) is None:
        raise ForeignError(path, 0, "is empty; give a Jepsen history")
    head = data[:HEAD]
    if head.startswith(BOM_UTF8):
        data, head = data[len(BOM_UTF8) :], head.removeprefix(BOM_UTF8)
    if edn.is_edn(head):
        entries = edn.read(data)
    elif json_lines.is_json(head):
        entries = json_lines.read(data[:])
    elif (why := disguise(head)) is not None:
        raise ForeignError(path, 1, f"cannot be read: {why}")
    else:
        raise ForeignError(
            path, 1, "is no Jepsen history: an EDN map such as {:type :invoke, :f :txn, :value "
            "[[:append 5 1]], :process 0} was expected, or the same as JSON",
        )  # fmt: skip
    del data
    history = transactions_of(entries)
    if not len(history) or (history.troubles and not len(history.tx)):
        line = history.troubles[0].line if history.troubles else 0
        why = f"; the first entry that cannot be used: {history.troubles[0].what}" if line else ""
        raise ForeignError(path, line, f"holds no transaction of lists or registers{why}")
    return history


def report(path: str, model: str) -> Report:
    """Read and judge a file; `ForeignError` if there is nothing to be judged in it."""
    enabled = gc.isenabled()
    gc.disable()  # what is read lives until the verdict: looking for garbage only costs
    try:
        judged = judge(load(path), model, path)
    finally:
        if enabled:
            gc.enable()
    counts, workload = judged.counts, judged.workload
    ended = ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)
    checked = (("transactions", ended), ("workload", workload))
    more = {"workload": workload, "transactions": counts}
    return of_verdict(judged.verdict, judged.history.name, f"{workload}, {ended}", checked, more)


def judge(
    history: Transactions,
    model: str,
    path: str = "history",
    weakest: Mapping[str, str] = NOTHING_ELSE,
) -> Judged:
    """Whether a history keeps to a model; `ForeignError` if its operations do not go together.

    `weakest` has types of findings that in this history break no weaker model than the one named.
    """
    wanted = model_of(model)
    workload = workload_of(history, path)
    found = _found(history, workload, wanted, weakest)
    words = Words(history, workload, found.because)
    broken = _weaker(history, workload, wanted, found, weakest)
    return Judged(_verdict(history, found, words, wanted, broken, path), workload, history)


def _found(history: Transactions, workload: str, model: Model, weakest: Mapping[str, str]) -> Found:
    """What a history shows, without what its damage may have made."""
    if workload == LIST:
        found = _lists(history, model, copied="incompatible-order" in weakest)
    else:
        found = rw_register.found(history, model)
    found.findings = [
        one._replace(weakest=weakest.get(one.type, one.weakest)) for one in found.findings
    ]
    if history.cut and any(one.type == "garbage-read" for one in found.findings):
        found.open.append(
            "values that no entry wrote were read; entries that are lost may have written them"
        )
        found.findings = [one for one in found.findings if one.type != "garbage-read"]
    if history.untimed and model.level:
        found.open.append(f"{history.untimed}, so the order in time is not certain")
        found.findings = [one for one in found.findings if not _needs_time(one)]
        found.cycles = [one for one in found.cycles if not _needs_time(one)]
    return found


def _lists(history: Transactions, model: Model, *, copied: bool) -> Found:
    """What lists show. Where rows are `copied`, what the lists do not show may lose an append.

    A cycle of writes and their reads that needs a lost append behind those that were read is then a
    lost update: models that allow this are not broken by it.
    """
    if not copied:
        return list_append.found(history, model)
    if not model.forbids_type(LOSS):
        return list_append.found(history, model, loses=True)
    found = list_append.found(history, model)
    if any(split(one.type)[0] in MADE_OF_WRITES for one in found.cycles):
        weak = list_append.found(history, model_of("read-committed"), loses=True)
        if not weak.cycles:
            found.cycles = [_as_loss(one) for one in found.cycles]
    return found


def _as_loss(one: Cycle) -> Cycle:
    base, level = split(one.type)
    return replace(one, type=LOSS + SUFFIXES[level]) if base in MADE_OF_WRITES else one


def _needs_time(one: Finding | Cycle) -> bool:
    """Whether an anomaly rests on the order of the entries."""
    return bool(split(one.type)[1] or (one.weakest and model_of(one.weakest).level))


def _weaker(
    history: Transactions, workload: str, model: Model, found: Found, weakest: Mapping[str, str]
) -> frozenset[str]:
    """The weaker models that are broken too, where an anomaly was found under this model only.

    A contradiction between orders that follow from a model breaks that one; whether they follow
    from a weaker model too is judged anew.
    """
    status = history.status
    if not any(one.weakest == model.name for one in found.every):
        return frozenset()
    return frozenset(
        one.name
        for one in weaker_than(model)
        if found.breaks(one, status) or _found(history, workload, one, weakest).breaks(one, status)
    )


def _verdict(
    history: Transactions,
    found: Found,
    words: Words,
    model: Model,
    broken: frozenset[str],
    path: str,
) -> Verdict:
    doubts = [*found.open, *_missing(history, found.node, model)]
    doubts += ["not all of the history could be read or understood"] if history.troubles else []
    doubts += [] if (history.status == COMMITTED)[history.tx].any() else [NOTHING]
    anomalies = [words.finding(one) for one in first_of_each(found.findings)]
    anomalies += [words.cycle(one) for one in first_of_each(found.cycles)]
    ruled_out = tuple(
        name
        for name, other in MODELS.items()
        if found.breaks(other, history.status)
        or any(other.implies(model_of(one)) for one in broken)
    )
    valid: Answer = model.name not in ruled_out
    if valid and doubts:
        valid = "unknown"
    notes = (*doubts, *found.notes, *_counted(found), *trouble_lines(history.troubles, path))
    counts = tuple(counts_of(found.every).items())
    return Verdict(model.name, valid, tuple(anomalies), counts, ruled_out, "", notes)


def _counted(found: Found) -> list[str]:
    """The types of which there may be more than are counted."""
    many = counts_of(found.findings)
    names = sorted(name for name, count in many.items() if count >= MOST_FOUND)
    return [f"no more than {MOST_FOUND:,} were counted of {', '.join(names)}"] if names else []


def _missing(history: Transactions, node: Array, model: Model) -> list[str]:
    """What the orders of a model need and the file does not hold."""
    if model.level == 1 and bool((history.process[node] < -LARGEST).any()):
        return ["some transactions have no process, so it is not known what came before them"]
    if model.level > 1 and bool((history.begin[node] < 0).any()):
        return ["some transactions have no invocation, so it is not known when they began"]
    return []
