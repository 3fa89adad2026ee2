"""Times that go back within a process: the order of the entries is not that in time."""

import json

import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.jepsen import judge
from ddlsim.graph.verdict import Verdict


def lines(*times: int | str | None, seen: str = "[1]") -> list[str]:
    """Process 0 appends 1, then process 1 reads `seen`, then process 0 reads 1; their times."""
    entries = [
        *(("invoke", "[[:append 5 1]]", 0), ("ok", "[[:append 5 1]]", 0)),
        *(("invoke", "[[:r 5 nil]]", 1), ("ok", f"[[:r 5 {seen}]]", 1)),
        *(("invoke", "[[:r 5 nil]]", 0), ("ok", "[[:r 5 [1]]]", 0)),
    ]
    timed = ["" if time is None else f" :time {time}," for time in times]
    return [
        f"{{:type :{type_}, :f :txn, :value {value}, :process {process},{time} :index {index}}}"
        for index, ((type_, value, process), time) in enumerate(zip(entries, timed, strict=True))
    ]


def as_json(line: str) -> str:
    text = line.replace("{:", '{"').replace(", :", ', "').replace("nil", "null")
    for key in ("type", "f", "value", "process", "time", "index"):
        text = text.replace(f'"{key} ', f'"{key}": ')
    for word in ("invoke", "ok", "txn"):
        text = text.replace(f" :{word},", f' "{word}",')
    text = text.replace("[:append 5 1]", '["append", 5, 1]').replace("[:r 5 ", '["r", 5, ')
    return json.dumps(json.loads(text))


def told(text: str, model: str = "strict-serializable") -> Verdict:
    return judge(jepsen.parse(text.encode()), model).verdict


BACK = lines(100, 200, 300, 250, 400, 350)
WRITTEN = {
    "lines": "\n".join(BACK),
    "other lines": "\n".join([*BACK[:3], BACK[3].replace("{", "{:error {:a 1}, "), *BACK[4:]]),
    "plain lines": "\n".join(line.replace(":f ", ":node a, :f ") for line in BACK),
    "a vector": f"[{' '.join(BACK)}]",
    "JSON lines": "\n".join(map(as_json, BACK)),
    "a list of JSON": f"[{','.join(map(as_json, BACK))}]",
    "out of order": "\n".join(reversed(BACK)),
}


@pytest.mark.parametrize("how", WRITTEN)
def test_a_time_that_goes_back_in_a_process_leaves_real_time_unknown(how: str) -> None:
    """It was judged as if the entries were in order."""
    for model in ("strict-serializable", "strong-session-serializable"):
        verdict = told(WRITTEN[how], model)
        assert verdict.valid == "unknown"
        [note] = verdict.notes
        assert "the time of process 1 goes back from 300 to 250, and at 1 others, so" in note
    assert told(WRITTEN[how], "serializable").valid is True


def test_the_line_is_named() -> None:
    [note] = told(WRITTEN["lines"]).notes
    assert note.startswith("at line 4 the time of process 1 goes back")


def test_what_rests_on_the_order_is_not_claimed_then() -> None:
    """A read that misses what was acknowledged before it, if the entries are in order."""
    ordered = told("\n".join(lines(1, 2, 3, 4, 5, 6, seen="nil")))
    assert ordered.valid is False
    assert told("\n".join(lines(1, 2, 4, 3, 5, 6, seen="nil"))).valid == "unknown"


@pytest.mark.parametrize(
    "times",
    [
        (None, None, None, None, None, None),
        (100, 200, 10, 20, 300, 400),  # of another process
        (100, 100, 100, 100, 100, 100),
        (100, None, 300, None, None, 400),
        (100, "nil", 300, ":x", 1.5, -7),  # no times
    ],
)
def test_other_times_are_of_no_account(times: tuple[int | str | None, ...]) -> None:
    verdict = told("\n".join(lines(*times)))
    assert (verdict.valid, verdict.notes) == (True, ())
