"""The shapes of the documents of `ddlsim explain --output json`."""

from typing import Literal, NotRequired, TypedDict

from ddlsim.checkers.argument import Moment, Party
from ddlsim.checkers.base import Step
from ddlsim.cli.documents import shapes
from ddlsim.history.events import AnyEvent
from ddlsim.history.figures import Figures


class Looked(TypedDict):
    """What one judge had to judge."""

    invariant: str
    checker: str
    claimed: bool
    judged: bool
    looked_at: dict[str, int]
    nothing_to_judge: bool
    found: int


Argued = TypedDict(
    "Argued",
    {
        "invariant": str,
        "checker": str,
        "kind": str,
        "class": Literal["safety", "session", "liveness", "quality"],
        "status": str,
        "strict_only": bool,
        "summary": str,
        "witness": list[AnyEvent],
        "clauses": list[str],
        "because": str,
        "times": int,
        "paragraph": str,
        "parties": list[Party],
        "steps": list[Step],
        "moments": list[Moment],
    },
)


Delayed = TypedDict("Delayed", {"from": str, "to": str, "kind": str, "took_ms": float | None})
"""A message between two hosts; `took_ms` is null where it did not arrive."""


class LikelihoodPoint(TypedDict):
    """So many continuations show the violation of those that draw anew what is sent from `at_ms`
    on; null: everything."""

    at_ms: float | None
    shows: int


class LikelihoodRise(TypedDict):
    """A change of the likelihood from `before` to `after`, in continuations, by the `sent` messages
    from `from_ms` to before `until_ms`; the first of them, where that is one instant."""

    from_ms: float
    until_ms: float
    before: int
    after: int
    sent: int
    messages: list[Delayed]


class Likelihood(TypedDict):
    """How likely the violation was along the run: the points in order of time, of how many
    continuations each; the largest changes; when the violation was complete."""

    signature: str
    continuations: int
    ends_ms: float
    points: list[LikelihoodPoint]
    rises: list[LikelihoodRise]


class Explain(TypedDict):
    """The arguments against a history of this program, each a violation with its paragraph, its
    parties and what was seen; `times` is how often it was found in this shape. `likelihood` is
    that of the first argument's violation, with --likelihood."""

    format: int
    file: str
    scenario: str
    strategy: str
    mutant: str | None
    seed: int
    outcome: shapes.Word
    fingerprint: str | None
    arguments: list[Argued]
    omitted: dict[str, int]
    stuck: list[str]
    unjudged: list[str]
    missed: list[str]
    unmatched: list[str]
    never_reached: list[str]
    figures: Figures | None
    command: str
    checked: list[Looked]
    files: list[str]
    not_met: list[str]
    likelihood: NotRequired[Likelihood]


class Amount(TypedDict):
    """Something that was looked for or at, and in how much."""

    what: str
    amount: str


class ExplainForeign(shapes.Checked):
    """The verdict on a history of another program, with what was checked."""

    format: int
    checked: list[Amount]
    files: list[str]
