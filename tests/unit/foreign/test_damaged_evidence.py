"""Damaged histories are never called valid: processes, answers and indices that do not fit."""

import json

import pytest

from ddlsim.graph.models import MODELS
from tests.support.register_cases import lines, verdict_of

GOOD = lines(
    "0 invoke [[:append 1 1] [:r 2 nil]]", "0 ok [[:append 1 1] [:r 2 []]]",
    "1 invoke [[:r 1 nil]]", "1 ok [[:r 1 [1]]]",
)  # fmt: skip


def as_json(**nemesis: object) -> str:
    """The same history as JSON lines, and an entry of another process."""
    process = {"index": 4, "type": "info", "f": "start", "value": None, **nemesis}
    values = [
        [["append", 1, 1], ["r", 2, None]], [["append", 1, 1], ["r", 2, []]],
        [["r", 1, None]], [["r", 1, [1]]],
    ]  # fmt: skip
    types = ["invoke", "ok", "invoke", "ok"]
    entries = [
        {"type": type_, "process": at // 2, "f": "txn", "value": value, "index": at}
        for at, (type_, value) in enumerate(zip(types, values, strict=True))
    ]
    return "".join(f"{json.dumps(one)}\n" for one in [*entries, process])


@pytest.mark.parametrize(
    "nemesis",
    [
        "{:type :info, :f :start, :value nil, :process :nemesis, :index 4}",
        "{:type :info, :f :kill, :value [[:append 1 7]], :process :nemesis, :index 4}",
    ],
)
def test_entries_of_keyword_processes_are_skipped(nemesis: str) -> None:
    assert verdict_of(GOOD).valid is True
    assert verdict_of(GOOD + nemesis).valid is True
    for word in ("nemesis", ":nemesis"):
        assert verdict_of(as_json(process=word)).valid is True


PASSED = [
    "{:type :info, :f :kill, :value #object[x], :process :nemesis, :index 4}",
    "{:type :info, :f :poke, :value [:n1 3], :process :chaos, :index 4}",
]
DOUBTFUL = [
    "{:type :ok, :f :txn, :value [[:append 1 7]], :process :worker, :index 4}",
    "{:type :ok, :f :txn, :value nil, :process :worker, :index 4}",
    "{:type :ok, :value [[:append 1 7]], :process :worker, :index 4}",
    "{:type :ok, :f :poke, :value [[:append 1 7]], :process :worker, :index 4}",
    "{:type :info, :f :txn, :value [[:append 1 7]], :process :nemesis, :index 4}",
    "{:type :info, :value [[:append 1 7]], :process :nemesis, :index 4}",
]


def test_only_entries_without_a_transaction_are_skipped() -> None:
    for entry in PASSED:
        assert verdict_of(GOOD + entry).valid is True, entry


@pytest.mark.parametrize("entry", DOUBTFUL)
def test_a_transaction_of_a_keyword_process_is_a_trouble(entry: str) -> None:
    verdict = verdict_of(GOOD + entry)
    assert verdict.valid == "unknown"
    assert any("history:5: a transaction of process :" in note for note in verdict.notes)


@pytest.mark.parametrize("word", ["nemesis", ":nemesis"])
def test_a_transaction_of_the_nemesis_is_doubtful_in_json_too(word: str) -> None:
    verdict = verdict_of(as_json(process=word, f="txn", value=[["append", 1, 2]]))
    assert verdict.valid == "unknown"


def test_a_write_of_a_keyword_process_that_was_read_is_no_garbage() -> None:
    wrote = lines(":worker invoke [[:append 1 7]]", ":worker ok [[:append 1 7]]")
    verdict = verdict_of(wrote + lines("0 invoke [[:r 1 nil]]", "0 ok [[:r 1 [7]]]"))
    assert verdict.valid == "unknown"
    assert verdict.types == ()


@pytest.mark.parametrize("answer", ["1 ok [[:r 1 [1]]]", "1 fail [[:r 1 nil]]", "1 info nil", ""])
@pytest.mark.parametrize(
    ("early", "doubt"),
    [("nil", False), ("[]", False), ("_", True), ("[9]", True), ("7", True), ('"x"', True)],
)
def test_an_invocation_with_a_value_read_is_a_trouble(early: str, doubt: bool, answer: str) -> None:
    asked = "0 invoke [[:append 1 1]]", "0 ok [[:append 1 1]]", f"1 invoke [[:r 1 {early}]]"
    verdict = verdict_of(lines(*asked, *([answer] if answer else [])))
    assert verdict.valid == ("unknown" if doubt else True)
    assert any("before its completion" in note for note in verdict.notes) is doubt


def test_a_recorder_may_write_the_answer_into_the_invocation() -> None:
    assert verdict_of(GOOD.replace("[:r 1 nil]", "[:r 1 [1]]")).valid is True


@pytest.mark.parametrize("process", ['"nemesis"', '"0"', "1.5", "[0]", "true", '"worker 3"'])
def test_a_process_that_is_no_number_is_a_trouble(process: str) -> None:
    text = GOOD + f"{{:type :info, :f :txn, :value [[:append 1 2]], :process {process}, :index 4}}"
    verdict = verdict_of(text)
    assert verdict.valid == "unknown"
    assert any("of no process, but" in note for note in verdict.notes)


@pytest.mark.parametrize("process", ["0", "worker 3", ":worker", 1.5, [0], True, {}])
def test_in_json_only_the_process_nemesis_is_skipped(process: object) -> None:
    verdict = verdict_of(as_json(process=process, value=[["append", 1, 2]]))
    assert verdict.valid == "unknown"
    assert any("of no process, but" in note for note in verdict.notes)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("[[:append 1 1]]", "number"),
        ("[[:append 1 1] [:r 2 []] [:r 3 []]]", "number"),
        ("[[:r 2 []] [:append 1 1]]", "function"),
        ("[[:append 1 1] [:append 2 1]]", "function"),
        ("[[:append 1 1] [:r 3 []]]", "key"),
        ("[[:append 3 1] [:r 2 []]]", "key"),
        ("[[:append 1 2] [:r 2 []]]", "value"),
    ],
)
def test_an_answer_that_does_not_fit_the_invocation_is_trouble(answer: str, told: str) -> None:
    text = GOOD.replace("[[:append 1 1] [:r 2 []]]", answer)
    assert text != GOOD, told
    verdict = verdict_of(text)
    assert verdict.valid == "unknown"
    assert any("history:2: invoked with [[:append 1 1]" in note for note in verdict.notes)


@pytest.mark.parametrize("answer", ["true", "1.0", '"1"', "[1]", "2", "null"])
@pytest.mark.parametrize("place", ['"k", {}', '{}, "v"'])
def test_an_answer_in_json_fits_only_if_it_is_the_same(place: str, answer: str) -> None:
    asked, told = ([[*json.loads(f'["w", {place.format(one)}]')]] for one in ("1", answer))
    other = [["w", "other", 1]]
    types = (("invoke", asked), ("ok", told), ("invoke", other), ("ok", other))
    text = "".join(
        f"{json.dumps({'type': type_, 'process': 0, 'f': 'txn', 'value': value})}\n"
        for type_, value in types
    )
    assert verdict_of(text).valid == "unknown"
    assert verdict_of(text.replace(json.dumps(told), json.dumps(asked))).valid is True


def test_the_same_answer_written_otherwise_fits() -> None:
    spaced = GOOD.replace("[[:append 1 1] [:r 2 []]]", "[[:append  1 1], [:r 2 [ ]]]")
    assert verdict_of(spaced).valid is True
    failed = GOOD.replace(":ok, :f :txn, :value [[:append 1 1] [:r 2 []]]", ":info, :value nil")
    assert verdict_of(failed).valid is True


@pytest.mark.parametrize("ended", ["fail", "info"])
def test_an_unsuccessful_answer_has_to_fit_as_well(ended: str) -> None:
    text = GOOD.replace(":ok, :f :txn, :value [[:append 1 1]", f":{ended}, :value [[:append 1 9]")
    assert verdict_of(text).valid in {False, "unknown"}
    assert any("invoked with" in note for note in verdict_of(text).notes)


@pytest.mark.parametrize("lost", range(4))
def test_a_gap_in_the_indices_is_a_doubt(lost: int) -> None:
    kept = [line for at, line in enumerate(GOOD.splitlines()) if at != lost]
    more = ["{:type :info, :f :stop, :value nil, :process :nemesis, :index 4}"]
    verdict = verdict_of("\n".join(kept + more))
    assert verdict.valid == "unknown"


def test_skipped_entries_leave_no_gap_in_the_indices() -> None:
    nemesis = "{:type :info, :f :stop, :value nil, :process :nemesis, :index 2}"
    first, second, third, fourth = GOOD.splitlines()
    moved = [third.replace(":index 2", ":index 3"), fourth.replace(":index 3", ":index 4")]
    assert verdict_of("\n".join([first, second, nemesis, *moved])).valid is True
    verdict = verdict_of("\n".join([first, second, *moved]))
    assert verdict.valid == "unknown"
    assert any("index 2 is missing before this" in note for note in verdict.notes)


def test_an_index_that_only_some_entries_have_is_a_doubt() -> None:
    verdict = verdict_of(GOOD.replace(", :index 2}", "}"))
    assert verdict.valid == "unknown"
    assert any("has no index, and others have" in note for note in verdict.notes)


BARE = """{:type :ok, :value [[:append :x 1] [:r :y [1]]]}
{:type :ok, :value [[:append :x 2] [:append :y 1]]}
{:type :ok, :value [[:r :x [1 2]]]}
"""
"""The first example of Elle's own description: answers and nothing else."""


def test_completions_without_a_process_are_transactions() -> None:
    verdict = verdict_of(BARE, "serializable")
    assert verdict.valid is False
    assert verdict.types == ("G1c",)
    assert "(no process, line 1)" in verdict.anomalies[0].explanation
    clean = BARE.replace("[:r :y [1]]", "[:r :y []]")
    for name, model in MODELS.items():
        assert verdict_of(clean, name).valid == ("unknown" if model.level else True), name


def test_an_invocation_without_a_process_is_trouble() -> None:
    verdict = verdict_of(BARE + "{:type :invoke, :value [[:append :x 3]]}", "serializable")
    assert any("an invocation of no process" in note for note in verdict.notes)


def test_an_indeterminate_transaction_without_a_process_is_one() -> None:
    text = "{:type :ok, :value [[:r 1 [1]]]}\n{:type :info, :value [[:append 1 1] [:append 2 1]]}\n"
    assert verdict_of(text, "serializable").valid is True
    torn = text + "{:type :ok, :value [[:r 1 [1]] [:r 2 []]]}\n"
    assert verdict_of(torn, "read-committed").valid is True
    assert verdict_of(torn, "read-atomic").types == ("fractured-read",)


OVERLAPPING = (
    "0 invoke [[:r 1 nil]]", "1 invoke [[:append 1 1]]", "1 ok [[:append 1 1]]",
    "0 invoke [[:r 1 nil]]", "0 ok [[:r 1 []]]", "0 ok [[:r 1 [1]]]",
)  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_answers_of_a_process_that_does_two_things_at_once_show_no_real_time(name: str) -> None:
    """The empty list may be the answer to the first invocation, before the append."""
    assert verdict_of(lines(*OVERLAPPING), name).valid == "unknown"


def test_an_invocation_without_an_answer_alone_leaves_the_next_one_its_own() -> None:
    verdict = verdict_of(lines(*OVERLAPPING[:5]))
    assert (verdict.valid, verdict.types) == (False, ("G-single-realtime",))
