"""Whether designs keep what they claim, over many runs: a row for each design and invariant.

Only runs without a mutant count, those of negative scenarios without theirs too.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final, Literal

from msgspec import structs

from ddlsim.checkers.base import in_order
from ddlsim.checkers.judge import FINDING
from ddlsim.checkers.outcome import Outcome
from ddlsim.model.records import Record
from ddlsim.scenario.expect import judges_expected
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import VARIED, Case, Trial

KNOWN_BREACHES: Final[dict[str, str]] = {
    "iep_literal": "the text alone has none of the x clauses, which its own proofs need",
    "a1_unassuming": "a message may take longer than DD, which it claims not to matter",
    "a2_warmup_physical": "timestamps go back with a clock, and with a slower leader (I12)",
    "a3_barrier": "what was stamped before a barrier is answered after it, by another node's time",
    "a3_barrier_impatient": "a node that did not answer in time stays on the old schema",
    "a4_on_receipt": "being known everywhere does not make an activation atomic, "
    "and what a node knows may lie ahead of its clock (I12)",
    "a7_unmerged": "a new leader with a slow clock stamps below what nodes have answered for",
    "a7_dd_csmax": "the stamps of a leader that trusts its own clock go back (I12)",
    "b1_opt1": "IEP-110's option 1: one transaction runs on two schemas",
    "b2_opt2": "IEP-110's option 2: a DDL that has happened is not seen",
    "b2_opt2_downgrading": "option 2 that also reads what was written after the DDL",
    "b3_no_commit_check": "it commits across what it must not cross",
    "b5_begin": "a table that was created since the begin is missed",
    "b7_type": "rows of newer schemas are read beside the columns of an older one (B7-T3)",
    "b7_tuple": "rows of newer schemas are read beside the columns of an older one (B7-T3)",
    "b7_off": "rows of newer schemas are read, downgraded",
    "b11_downgrading": "rows of newer schemas are read, downgraded",
    "b12_naive_check": "rows come between the look at an empty table and the new column",
    "b13_unreserved": "while an old name stays, it may be given to another table",
    "c15_unassuming": "what changes between the read of a cache and the read version is not seen",
}
"""Designs that are known not to keep all that they claim, and why that is no surprise."""

Word = Literal["kept", "broken", "not claimed", "not judged", "not decided"]
Expected = tuple[RunRow, frozenset[str]]
"""A run, and the invariants and checkers that its scenario expects to be broken."""


class ClaimRow(Record, frozen=True):
    """One invariant under one design: in how many runs what was found.

    `breaches` are runs in which the claim was broken under its assumptions, or something was
    stuck; `foretold` are those of them whose scenario expects just that. `findings` are runs with a
    breach that a known finding explains, by its id. `example` is the first breach that no scenario
    expects, as (scenario, seed, sentence); `excuse` is why such a breach is known. `short`: the
    time was up before all runs of the design were done, so that no claim counts as kept.
    """

    strategy: str
    invariant: str
    claimed: bool
    assumes: tuple[str, ...]
    runs: int
    breaches: int
    foretold: int
    out_of_assumption: int
    accepted: int
    unjudged: int
    findings: dict[str, int]
    example: tuple[str, int, str] | None = None
    excuse: str = ""
    short: bool = False

    @property
    def word(self) -> Word:
        """The result for the claim, in a word."""
        if self.breaches:
            return "broken"
        if not self.claimed:
            return "not claimed"
        if self.runs <= self.unjudged:
            return "not judged"
        return "not decided" if self.short else "kept"


def rows_of(
    pairs: Iterable[tuple[Case, Sequence[Trial]]], short: Container[str] = ()
) -> Iterator[ClaimRow]:
    """A row for each design that was run and each invariant, in their order.

    `short` are the designs of which some case had fewer seeds than were asked for.
    """
    runs: dict[str, list[Expected]] = {}
    for case, done in pairs:
        rows = [one.row if case.mutant is None else one.control for one in done]
        due = expected_of(case)
        runs.setdefault(case.design, []).extend(
            (row, due) for row in rows if row is not None and row.outcome is not Outcome.CRASHED
        )
    for label in sorted(runs):
        for row in of_design(label, runs[label]) if runs[label] else ():
            yield structs.replace(row, short=label in short)


def of_design(label: str, runs: Sequence[Expected]) -> Iterator[ClaimRow]:
    """A row for each invariant, in their order, of the finished runs of one design."""
    for invariant in dict.fromkeys(checker.invariant for checker in in_order()):
        yield _row(label, invariant, runs)


def expected_of(case: Case) -> frozenset[str]:
    """The invariants and checkers that a scenario without a mutant expects to be broken."""
    if case.mutant is not None or case.kind == "claims":
        return frozenset()
    return frozenset(judges_expected(case.expect))


def _row(label: str, invariant: str, runs: Sequence[Expected]) -> ClaimRow:
    name = label.removesuffix(VARIED)
    header = DESIGNS.get(name).header
    claim = next((one for one in header.claims if one.invariant == invariant), None)
    statuses: Counter[str] = Counter()
    example = None
    for row, due in runs:
        found = [one for one in row.violations if one.invariant == invariant]
        grave = [one for one in found if one.status in ("violation", "stuck")]
        statuses.update({one.status for one in found} - {"stuck", "violation"})
        sudden = [one for one in grave if not {one.invariant, one.checker} & due]
        statuses["breach"] += bool(grave)
        statuses["foretold"] += bool(grave) and not sudden
        if sudden and example is None:
            example = (row.scenario, row.seed, f"{sudden[0].kind}: {sudden[0].summary}")
    broken = statuses["breach"]
    return ClaimRow(
        strategy=label,
        invariant=invariant,
        claimed=claim is not None,
        assumes=() if claim is None else claim.assumes,
        runs=len(runs),
        breaches=broken,
        foretold=statuses["foretold"],
        out_of_assumption=statuses["out_of_assumption"],
        accepted=statuses["accepted"],
        unjudged=sum(invariant in row.unjudged for row, _ in runs),
        findings={
            status.partition(":")[2]: times
            for status, times in sorted(statuses.items())
            if status.startswith(FINDING)
        },
        example=example,
        excuse="" if example is None else KNOWN_BREACHES.get(name, ""),
    )


def wrong(rows: Iterable[ClaimRow]) -> Iterator[str]:
    """The claims that are broken without an expected reason."""
    for row in rows:
        if row.example is not None and not row.excuse:
            scenario, seed, words = row.example
            times = row.breaches - row.foretold
            where = f"{times} of {row.runs} runs, first {scenario} seed {seed}"
            yield f"{row.strategy} breaks its claim of {row.invariant} in {where}: {words}"
