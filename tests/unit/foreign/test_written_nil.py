"""A register that is written nil, which each key has at first: a read of it tells little."""

import pytest

from ddlsim.foreign import jepsen
from ddlsim.graph.models import MODELS

VALID = {
    "read before its own write": [("[[:r :x nil] [:w :x nil]]", 0)],
    "one after the other": [
        ("[[:w :x 1]]", 0),
        ("[[:r :x 1] [:w :x nil]]", 0),
        ("[[:r :x nil]]", 0),
    ],
    "there and back": [("[[:r :x nil] [:w :x 1]]", 0), ("[[:r :x 1] [:w :x nil]]", 0)],
}


def text(transactions: list[tuple[str, int]]) -> bytes:
    lines = []
    for at, (value, process) in enumerate(transactions):
        for offset, kind in enumerate((":invoke", ":ok")):
            lines.append(
                f"{{:type {kind}, :f :txn, :value {value}, :process {process}, "
                f":index {2 * at + offset}}}"
            )
    return "\n".join(lines).encode()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", VALID)
def test_valid_histories_have_no_anomaly(name: str, model: str) -> None:
    report = jepsen.judge(jepsen.parse(text(VALID[name])), model)
    assert report.verdict.valid is not False


def test_a_failed_write_of_nil_is_not_what_a_read_of_nil_saw() -> None:
    failed = text([("[[:w :x nil]]", 0), ("[[:r :x nil]]", 1)]).replace(b":ok", b":fail", 1)
    report = jepsen.judge(jepsen.parse(failed), "serializable")
    assert report.verdict.valid == "unknown"
