"""What the columnar judge says: the answer, the anomalies, and the models they rule out."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeVar

Namer = Callable[[int], str]
Answer = Literal["unknown"] | bool
KEPT_OF_A_KIND: Final = 20
"""How many anomalies of one type any judge keeps in full; all are counted."""
NOTHING: Final = (
    "no transaction with an operation is known to have committed, so that nothing was judged"
)
"""Why a history is neither valid nor not."""


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of a cycle: `source` comes before `target`, and why. `edge` is ww, wr, rw, ..."""

    source: int
    target: int
    edge: str
    because: str


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Something that a model forbids; `txns` are numbers of transactions, first the smallest.

    `type` is the field's name for it (`G1a`, `G-single-realtime`, `schema-G-single`). `steps` are
    empty where it is no cycle. `did` is what each of `txns` did, in words; empty where the history
    does not tell.
    """

    type: str
    txns: tuple[int, ...]
    steps: tuple[Step, ...]
    explanation: str
    did: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a history keeps to a model.

    `counts` is how many anomalies of each type were seen (`anomalies` keeps the first few),
    `ruled_out` the models that they exclude, weakest first, `certificate` what showed a valid
    history to be so (`order`, or `components` where the order did not suffice), `notes` what was
    left open, as a component too large to be searched in full.
    """

    model: str
    valid: Answer
    anomalies: tuple[Anomaly, ...] = ()
    counts: tuple[tuple[str, int], ...] = ()
    ruled_out: tuple[str, ...] = ()
    certificate: str = ""
    notes: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """The types of anomalies seen, each once."""
        return tuple(name for name, _ in self.counts)

    def as_data(self, names: Namer | None = None) -> dict[str, object]:
        """The same as plain data for JSON: `valid`, `model`, `anomalies`, `not`, `notes`."""
        call = names or _number
        return {
            "valid": self.valid,
            "model": self.model,
            "anomalies": [
                {
                    "type": one.type,
                    "txns": [call(number) for number in one.txns],
                    "did": dict(zip(map(call, one.txns), one.did, strict=False)),
                    "steps": [
                        {
                            "from": call(step.source),
                            "to": call(step.target),
                            "edge": step.edge,
                            "because": step.because,
                        }
                        for step in one.steps
                    ],
                    "explanation": one.explanation,
                }
                for one in self.anomalies
            ],
            "counts": dict(self.counts),
            "not": list(self.ruled_out),
            "notes": list(self.notes),
        }


class Typed(Protocol):
    """Something that was found, of a type of anomaly."""

    @property
    def type(self) -> str:
        """The field's name for it."""


Found = TypeVar("Found", bound=Typed)


def first_of_each(found: Iterable[Found]) -> list[Found]:
    """The first `KEPT_OF_A_KIND` of each type."""
    seen: dict[str, int] = {}
    kept: list[Found] = []
    for one in found:
        seen[one.type] = seen.get(one.type, 0) + 1
        if seen[one.type] <= KEPT_OF_A_KIND:
            kept.append(one)
    return kept


def counts_of(found: Iterable[Typed]) -> dict[str, int]:
    """How many there are of each type."""
    return dict(Counter(one.type for one in found))


def _number(number: int) -> str:
    return f"T{number}"
