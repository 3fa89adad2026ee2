"""Small external histories, judged."""

from ddlsim.foreign import jepsen
from ddlsim.graph.verdict import Verdict
from tests.support.jepsen_histories import Entry, edn
from tests.support.jepsen_plants import plant

STRICT = "strict-serializable"


def verdict_of(text: str | bytes, model: str = STRICT) -> Verdict:
    """The verdict on a history as text."""
    data = text.encode() if isinstance(text, str) else text
    return jepsen.judge(jepsen.parse(data), model).verdict


def verdict_on(entries: list[Entry], model: str = STRICT) -> Verdict:
    """The verdict on entries, by way of their EDN."""
    return verdict_of(edn(entries), model)


def planted(workload: str, type_: str, model: str = STRICT) -> Verdict:
    """The verdict on a plant alone."""
    return verdict_on(plant([], workload, type_), model)


def lines(*said: str) -> str:
    """Entries `process type [operations]` as EDN, numbered."""
    parts = [one.split(" ", 2) for one in said]
    return "".join(
        f"{{:type :{type_}, :f :txn, :value {value}, :process {process}, :index {at}}}\n"
        for at, (process, type_, value) in enumerate(parts)
    )
