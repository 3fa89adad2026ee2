"""Which mutants were killed, by which checkers and how soon.

A mutant is *killed* when its own judge convicts it, and not the same run of the design without it.
How soon is measured in blocks: the seeds up to the first conviction, those up to the next, and so
on; each block is the number of seeds that a search begun there needs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from ddlsim.model.records import Record
from ddlsim.mutants.base import MUTANTS
from ddlsim.verify.suite import Case, Trial, convicted_by, convicts


class MutantRow(Record, frozen=True):
    """A mutant in one scenario: in how many runs each checker convicted it, and since which seed.

    `blocks` are the numbers of seeds until its own judge convicted it; empty for one that survived.
    `complete`: it had all its runs in this scenario; only then can it have survived.
    """

    mutant: str
    scenario: str
    breaks: str
    judge: str
    runs: int
    killed_by: dict[str, int]
    first_seed: dict[str, int]
    blocks: tuple[int, ...]
    complete: bool = True

    @property
    def killed(self) -> bool:
        """Whether its own judge convicted it."""
        return bool(self.blocks)

    @property
    def median_seeds(self) -> float | None:
        """The median number of seeds until a conviction; None for a survivor."""
        return median(self.blocks) if self.blocks else None


class Survivor(Record, frozen=True):
    """A mutant that no run convicted; `reason` is why no checker can, empty if it gives none."""

    mutant: str
    judge: str
    runs: int
    reason: str


def killing(case: Case, done: Sequence[Trial]) -> MutantRow:
    """The row of a mutant in one scenario."""
    killed_by: Counter[str] = Counter()
    first_seed: dict[str, int] = {}
    blocks, since = [], 0
    for place, trial in enumerate(done):
        convicting = convicted_by(trial.row)
        if trial.control is not None:  # what convicts the design too does not count
            convicting -= convicted_by(trial.control)
        killed_by.update(convicting)
        for checker in sorted(convicting):
            first_seed.setdefault(checker, trial.row.seed)
        if convicts(case, trial):
            blocks.append(place + 1 - since)
            since = place + 1
    assert case.mutant is not None
    assert case.judge is not None
    return MutantRow(
        mutant=case.mutant,
        scenario=case.name,
        breaks=MUTANTS.get(case.mutant).breaks,
        judge=case.judge,
        runs=len(done),
        killed_by=dict(sorted(killed_by.items())),
        first_seed=dict(sorted(first_seed.items())),
        blocks=tuple(blocks),
    )


def survivors(
    pairs: Sequence[tuple[Case, Sequence[Trial]]],
    mutants: Sequence[MutantRow],
    *,
    every_mutant: bool,
) -> Iterator[Survivor]:
    """The mutants that no run killed: of those in these cases, or of all that are known."""
    killed = {row.mutant for row in mutants if row.killed}
    asked = list(MUTANTS) if every_mutant else sorted({row.mutant for row in mutants})
    for name in asked:
        if name not in killed:
            item = MUTANTS.get(name)
            runs = sum(len(done) for case, done in pairs if case.mutant == name)
            yield Survivor(name, item.caught_by, runs, item.survives)
