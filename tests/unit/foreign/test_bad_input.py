"""Bad histories: a verdict that is honest, or an error that names the entry; never a traceback."""

import contextlib
from random import Random

import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers.problems import ForeignError
from tests.support import jepsen_histories as synthetic
from tests.support.jepsen_histories import APPENDS, REGISTERS, Shape, history
from tests.support.jepsen_plants import plant
from tests.support.register_cases import lines, verdict_of

GOOD = synthetic.edn(history(Shape(60), seed=2))
JSON = synthetic.json_lines(history(Shape(60), seed=2))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("hello", "is no Jepsen history"),
        ("\x00\xff\x89PNG", "is no Jepsen history"),
        ('{"event":"Header"}', "is no Jepsen history"),
        ("[]", "is no Jepsen history"),
        ("{:type :invoke, :f :read, :value nil, :process 0}", "holds no transaction"),
        ("{:type :invoke, :f :cas, :value [1 2], :process 0}", "history:1: .* is no operation"),
        (lines("0 ok [[:append 1 1]]", "1 ok [[:w 1 1]]"), "history:2: T1: .*both appends and"),
        (lines("0 ok [[:append 1 1]]", "1 ok [[:r 1 7]]"), r"history:2: T1: \[:r 1 7\].*a list"),
    ],
)
def test_what_cannot_be_judged_is_an_error_that_names_the_place(text: str, said: str) -> None:
    with pytest.raises(ForeignError, match=said):
        verdict_of(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            GOOD[: len(GOOD) // 2],
            "history:63: unreadable entry (a key is no keyword, or the map is cut off)",
        ),
        (f"[{GOOD}", "before its closing bracket"),
        (GOOD + "{:type :ok, :process 0", "is cut off"),
        (GOOD + "{:type :ok, :process 0, :process 1}", "stands there twice"),
        (JSON + '{"type": "ok", "process": 0, "process": 1}', "'process' stands there twice"),
        (f'[{",".join(JSON.splitlines())[:-1]}, "f": 1}}]', "'f' stands there twice"),
        (JSON.replace('"type": "ok"', '"type": "fail", "type": "ok"'), "'type' stands there twice"),
        (
            JSON + '{"type": "ok", "process": [], "value": [["w", {"a": 1, "a": 2}, 5]]}',
            "'a' stands there twice",
        ),
        (
            GOOD + "{:type :ok, :process 7, :value [[:w [{:a 1, :a #{2 2}}] 5]]}",
            "2 stands twice in a map or set",
        ),
        (
            GOOD + "{:type :ok, :process 7, :value [[:w {:a 1, :b 1, :a 2} 5]]}",
            ":a stands twice in a map or set",
        ),
        (GOOD + "{:type :okay, :process 0, :value [[:r 1 nil]]}", "type :okay; known"),
        (GOOD + "{:process 0, :value [[:r 1 nil]]}", "has no type"),
        (GOOD + "{:type :ok, :process 1.5, :value [[:r 1 nil]]}", "of no process, but 1.5"),
        (GOOD + "{:type :ok, :process 77, :value [[:pop 1 nil]]}", "unknown operation :pop"),
        (GOOD + "{:type :ok, :process 77, :value [[:r 1]]}", "is no operation"),
        (GOOD + "{:type :ok, :process 77, :value nil}", "has no operations"),
        (GOOD + "{:type :ok, :process 77, :value #foo [1]}", "unreadable entry"),
        (GOOD + "garbage", "unreadable entry"),
        (GOOD + "{:type :ok, :process 99999999999999999999, :value [[:r 1 nil]]}", "of no process"),
        (GOOD.replace(":index 7}", ":index 6}"), "index 6 is at line 7 already"),
        (lines("0 ok [[:r 1 [5]]]"), "without an invocation"),
        (lines("0 ok [[:append 1 1]]", "1 ok [[:append 1 1]]"), "appended to its key before"),
        (lines("0 ok [[:w 1 1]]", "1 ok [[:w 1 1]]"), "that its key had before"),
    ],
)
def test_what_is_unreadable_in_part_is_unknown(text: str, said: str) -> None:
    verdict = verdict_of(text)
    assert verdict.valid == "unknown"
    assert any(said in note for note in verdict.notes), verdict.notes


def test_an_anomaly_in_what_can_be_read_still_counts() -> None:
    text = synthetic.edn(plant([], APPENDS, "G1c")) + "{:type :ok, :value [["
    assert verdict_of(text).valid is False


def test_garbage_is_unknown_where_writes_may_be_lost() -> None:
    whole = synthetic.edn(plant([], APPENDS, "garbage-read"))
    assert verdict_of(whole).valid is False
    assert verdict_of(whole + "{:type :invoke, :value [[").valid == "unknown"


def test_what_may_be_lost_rules_out_no_weaker_model_either() -> None:
    """The two reads break read-committed whatever is lost; whether 1 is garbage is not known."""
    text = lines(
        ":worker ok [[:append 0 1]]", "0 invoke [[:append 0 3]]", "0 ok [[:append 0 3]]",
        "1 invoke [[:r 0 nil]]", "1 ok [[:r 0 [1]]]", "2 invoke [[:r 0 nil]]", "2 ok [[:r 0 [3]]]",
    )  # fmt: skip
    verdict = verdict_of(text, "read-committed")
    assert verdict.valid is False
    assert verdict_of(text, "read-uncommitted").valid == "unknown"
    assert "read-uncommitted" not in verdict.ruled_out


def test_a_missing_completion_is_an_unknown_transaction() -> None:
    seen = lines("0 invoke [[:append 1 1]]", "1 invoke [[:r 1 nil]]", "1 ok [[:r 1 [1]]]")
    assert verdict_of(seen).valid is True
    went_on = lines("0 invoke [[:append 1 1]]", "0 invoke [[:r 1 nil]]", "0 ok [[:r 1 [1]]]")
    verdict = verdict_of(went_on)
    assert any("got no answer" in note for note in verdict.notes)


def test_no_transaction_follows_an_unknown_one_in_real_time() -> None:
    text = lines("0 invoke [[:append 1 1]]", "0 info [[:append 1 1]]", "1 invoke [[:r 1 nil]]",
                 "1 ok [[:r 1 []]]", "2 invoke [[:r 1 nil]]", "2 ok [[:r 1 [1]]]")  # fmt: skip
    assert verdict_of(text).valid is True


def test_an_order_that_cannot_be_inferred_is_unknown_not_valid() -> None:
    """Two registers written blindly by the same two, read once each way round in part."""
    text = lines(
        "0 invoke [[:w 1 1] [:w 2 1]]", "1 invoke [[:w 1 2] [:w 2 2]]", "2 invoke [[:r 1 nil]]",
        "0 ok [[:w 1 1] [:w 2 1]]", "1 ok [[:w 1 2] [:w 2 2]]", "2 ok [[:r 1 1]]",
        "3 invoke [[:r 1 nil] [:r 2 nil]]", "3 ok [[:r 1 1] [:r 2 2]]",
    )  # fmt: skip
    assert verdict_of(text).valid in {False, "unknown"}
    assert verdict_of(text, "read-committed").valid in {True, "unknown"}


@pytest.mark.slow
def test_a_list_of_a_million_elements_is_judged_and_printed_briefly() -> None:
    many = " ".join(map(str, range(10**6)))
    text = lines("0 invoke [[:r 1 nil]]", f"0 ok [[:r 1 [{many}]]]")
    verdict = verdict_of(text)
    assert verdict.valid is False
    assert verdict.types == ("garbage-read",)
    assert "...[999998 elements], 999998, 999999" in verdict.anomalies[0].explanation
    assert len(verdict.anomalies[0].explanation) < 500


@pytest.mark.parametrize("workload", [APPENDS, REGISTERS])
def test_damaged_files_raise_only_foreign_errors(workload: str) -> None:
    dice = Random(4)
    text = synthetic.edn(history(Shape(12, workload), seed=1))
    for _ in range(150):
        at, more = dice.randrange(len(text)), dice.randrange(1, 40)
        cut = dice.choice(["", '"', "]", "{", "nil", ":", "\n", "99999999999999999999", "-"])
        broken = text[:at] + cut + text[at + dice.choice([0, 1, more]) :]
        with contextlib.suppress(ForeignError):
            assert verdict_of(broken).valid in {True, False, "unknown"}


def test_a_file_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ForeignError, match="cannot be read"):
        jepsen.load("no/such/history.edn")


@pytest.mark.parametrize("depth", [101, 450, 900, 1_100, 3_000])
@pytest.mark.parametrize(
    "entry",
    [
        "{:type :ok, :f :txn, :process 9, :value DEEP}",
        "{:type :ok, :f :txn, :process 9, :value [[:append 5 DEEP]]}",
        "{:type :ok, :f :txn, :process DEEP, :value [[:append 5 1]]}",
        "{:type DEEP, :f :txn, :process 9, :value [[:append 5 1]]}",
        '{"type": "ok", "f": "txn", "process": 9, "value": [["append", 5, DEEP]]}',
        '{"type": "ok", "f": "txn", "process": 9, "value": DEEP, "n": 12345678901234567890}',
        '{"type": DEEP, "f": "txn", "process": 9, "value": [["append", 5, 1]]}',
    ],
)
def test_what_is_nested_too_deeply_is_a_trouble_of_its_entry(entry: str, depth: int) -> None:
    good = (
        '{"type": "ok", "f": "txn", "process": 1, "value": [["append", 1, 1]]}'
        if entry.startswith('{"')
        else "{:type :ok, :f :txn, :process 1, :value [[:append 1 1]]}"
    )
    text = entry.replace("DEEP", "[" * depth + "7" + "]" * depth)
    verdict = verdict_of(f"{good}\n{text}\n")
    assert verdict.valid == "unknown"
    assert any("history:2: unreadable entry" in one for one in verdict.notes)


@pytest.mark.parametrize(("opened", "closed"), [("{:a ", "}"), ("#{", "}"), ("#foo [", "]")])
def test_so_is_any_form_of_edn(opened: str, closed: str) -> None:
    good = "{:type :ok, :f :txn, :process 1, :value [[:append 1 1]]}"
    deep = opened * 900 + "7" + closed * 900
    entry = f"{{:type :ok, :f :txn, :process 9, :value [[:append 5 {deep}]]}}"
    assert verdict_of(f"{good}\n{entry}\n").valid == "unknown"
