"""What trials send to their parent, and what is written of each."""

from typing import Literal

from ddlsim.model.records import Record

By = Literal["violation", "stuck", "endless", "assertion", "crash"]
"""How a run is convicted: by a judge, by what never completes, or by its end."""

Ending = Literal["killed", "survived", "unimportable"]
"""What a trial ends with."""


class World(Record, frozen=True):
    """A world of the swarm; `run` is the digest of its run without a mutant, empty if not known."""

    design: str
    seed: int
    run: str = ""


class Conviction(Record, frozen=True):
    """A convicted run: what convicts it, and more about that.

    `what` is invariant and checker, or the error; `more` the kind of anomaly, what is waited for,
    or the file and function that raised.
    """

    design: str
    seed: int
    by: By
    what: str
    more: str


class Searched(Record, frozen=True):
    """The result of a search: runs, how many of them a mutant left as they were, a conviction."""

    runs: int
    same: int
    conviction: Conviction | None


class Result(Record, frozen=True):
    """What became of a mutant.

    `unimportable`: its module, or the package with it, raises when it is imported. `runs` is the
    number of runs up to the conviction, or all of them; `reached` in how many of them the changed
    statement was executed, `same` how many are known to be as without the mutant, event by event;
    `cpu_s` the CPU time of the trial. `excused` counts runs that were convicted without the mutant
    as well.
    """

    id: str
    area: str
    operator: str
    sentence: str
    verdict: Ending
    conviction: Conviction | None = None
    runs: int = 0
    reached: int = 0
    cpu_s: float = 0.0
    excused: int = 0
    same: int = 0
    error: str = ""
