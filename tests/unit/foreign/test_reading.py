"""Entries out of EDN, JSON and JSON lines; the fast way and the full parser agree."""

import json
import re
from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers import alike, edn, json_lines
from ddlsim.foreign.readers.entries import Table
from tests.support import jepsen_histories as synthetic
from tests.support.jepsen_histories import APPENDS, REGISTERS, Shape, history
from tests.support.register_cases import lines, verdict_of

MADE = history(Shape(80, failed=0.1, unknown=0.1), seed=5)
PLAIN = synthetic.edn(MADE)
OTHER = "{:type :ok, :f :txn, :value [[:append 0 9999]], :process 99}"


def told(text: str) -> list[tuple[object, ...]]:
    """What of a history matters: every transaction and its operations."""
    found = jepsen.parse(text.encode())
    values = [found.value(op) for op in range(len(found.tx))]
    keys = [found.keys[key] for key in found.key]
    operations = zip(found.tx, found.kind, keys, values, strict=True)
    return [
        *zip(found.status.tolist(), found.process.tolist(), found.begin.tolist(), strict=True),
        *((int(tx), int(kind), key, value) for tx, kind, key, value in operations),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        f"[{PLAIN}]",
        f"({PLAIN})",
        "[" + PLAIN.replace("}\n", "} ") + "]",
        PLAIN.replace(", :", "\n  :"),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("{:type", "#jepsen.history.Op{:type"),
        PLAIN.replace("{:type", '{:node "n1 {", :type'),
        PLAIN.replace("}\n", ', :error [:timeout "a ] b" {:x #{1 2}}]}\n'),
        PLAIN.replace(" ", ", "),
        f"; a comment {{\n\n{PLAIN}\n; and one more",
        PLAIN.replace("{:type :ok, :f :txn", "{:f :txn, :type :ok"),
        "{:type :info, :f :start, :value {:a [1 2]}, :process :nemesis, :index 160}\n" + PLAIN,
        f"#_{OTHER}\n{PLAIN}",
        f"[#_ {OTHER}\n{PLAIN} #_ #_ {OTHER} {OTHER}]",
        PLAIN.replace("}\n", "} #_" + OTHER + "\n") + "; #_",
        json.dumps(synthetic.objects(MADE)),
        json.dumps(synthetic.objects(MADE), indent=1),
        synthetic.json_lines(MADE),
        synthetic.json_lines(MADE).replace('"append"', '":append"').replace('"ok"', '":ok"'),
    ],
)
def test_the_same_history_however_it_is_written(changed: str) -> None:
    plain = told(PLAIN)
    assert told(changed)[len(MADE) :] == plain[len(MADE) :]
    assert len(told(changed)) == len(plain)
    assert verdict_of(changed).valid is True


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("}\n", "} ; {:type :ok, :process 77, :value [[:append 9 9]]}\n"),
        re.sub(r"\}\n(.*\}\n)", r"} \1", PLAIN),
        re.sub(r"\}\n(.*\}\n)", r"}\1", PLAIN).replace("{:type", "#jepsen.history.Op{:type"),
    ],
)
def test_a_line_may_have_several_entries_and_a_comment(changed: str) -> None:
    assert changed != PLAIN
    assert told(changed) == told(PLAIN)
    verdict = verdict_of(changed)
    assert (verdict.valid, verdict.notes) == (True, verdict_of(PLAIN).notes)


@pytest.mark.parametrize("more", [" garbage", " {:type :ok", "]", " [1]"])
def test_what_else_a_line_has_is_a_trouble(more: str) -> None:
    verdict = verdict_of(PLAIN.replace("}\n", f"}}{more}\n", 1))
    assert verdict.valid == "unknown"
    assert any("history:1: unreadable entry" in note for note in verdict.notes)


ODD = ('"', *"[]{} ,:-.07Nx", "nil", "", "\n", "9" * 20)


def damaged(text: str, seed: int) -> bytes:
    """The same with some characters put into it, taken out of it, or repeated."""
    dice = Random(seed)
    parts = list(text)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(parts))
        parts[at] = dice.choice([*ODD, parts[at] * 2])
    return "".join(parts).encode()


@pytest.mark.parametrize("written", [synthetic.edn, synthetic.json_lines])
def test_lines_read_together_and_one_by_one_are_the_same_entries(
    written: Callable[[list[synthetic.Entry]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However a history was damaged: its entries, what could not be read, and in which line."""
    text = written(history(Shape(12, failed=0.1, unknown=0.1), seed=3))
    read = edn.read if written is synthetic.edn else json_lines.read
    texts = [damaged(text, seed) for seed in range(100)]
    together = [shown(read(one)) for one in texts]
    understood = [alike.read(one, edn.FORMAT) for one in texts] if read is edn.read else []
    assert not understood or sum(len(one.lines) for one in understood if one) > 100 * 18
    monkeypatch.setattr(alike, "read", lambda *_: None)
    assert [shown(read(one)) for one in texts] == together


def shown(table: Table) -> tuple[object, ...]:
    processes = np.maximum(table.processes, -1)  # what has none is numbered in another order
    columns = (table.types, processes, table.indices, table.lines)
    values = [table.value(at) for at in range(len(table))]
    return *(one.tolist() for one in columns), values, sorted(table.troubles), table.passed


def test_ordinary_lines_need_no_full_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[bytes] = []
    plainly = edn._parsed
    monkeypatch.setattr(edn, "_parsed", lambda part: parsed.append(part) or plainly(part))
    assert len(jepsen.parse(PLAIN.encode())) > 70
    assert len(parsed) <= 3  # the fields of the first line, which shows what lines look like


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[[:append 5 1] [:r 5 [1 2]]]", [[":append", 5, 1], [":r", 5, [1, 2]]]),
        ("[[:w :x -1] [:r :nil nil]]", [[":w", ":x", -1], [":r", ":nil", None]]),
        ('[[:r "nil" "a-b"]]', [[":r", "nil", "a-b"]]),
        ("[[:r a/b 1N]]", [[":r", "\\a/b", 1]]),
        ("[[:r 5 1.5] [:w true false]]", [[":r", 5, 1.5], [":w", True, False]]),
        ("[[:append 5 12345678901234567890123]]", [[":append", 5, 12345678901234567890123]]),
        ("[[:append  5,1]\t[:r\n5 nil]]", [[":append", 5, 1], [":r", 5, None]]),
        ("[]", []),
    ],
)
def test_operations_are_read_alone_and_beside_others(text: str, value: object) -> None:
    entry = "{{:type :ok, :process 0, :value {}}}\n".format
    assert edn.read(entry(text).encode()).value(0) == value
    both = edn.read((entry("[[:r :x nil]]") + entry(text)).encode())
    assert [both.value(at) for at in (0, 1)] == [[[":r", ":x", None]], value]


@pytest.mark.parametrize(
    "entry",
    [
        "{:type :ok, :process 0, :value [[:r 5 #{1}]}",
        "{:type :ok, :type :ok, :process 0, :value []}",
        "{:type :ok, :process 0, :value}",
        "{[:type] :ok, :process 0, :value []}",
        '{"type" :ok, :process 0, :value []}',
    ],
)
def test_an_entry_that_cannot_be_read_is_a_trouble(entry: str) -> None:
    found = edn.read(f"{entry}\n{{:type :ok, :process 0, :value [[:r 5 1]]}}\n".encode())
    assert len(found) == 1
    assert [one.line for one in found.troubles] == [1]


def test_a_text_with_anything_in_it_is_a_key() -> None:
    said = lines('0 ok [[:append "a ] nil, :b" 1] [:append "a ] nil, :b" "x y"]]')
    found = jepsen.parse(said.encode())
    assert found.keys == ["a ] nil, :b"]
    assert [found.value(op) for op in (0, 1)] == [1, "x y"]


@pytest.mark.parametrize("text", [PLAIN, synthetic.json_lines(history(Shape(20)))])
def test_a_byte_order_mark_is_skipped(text: str) -> None:
    marked = b"\xef\xbb\xbf" + text.encode()
    assert jepsen.recognises(marked[:4096])
    assert len(jepsen.parse(marked)) == len(jepsen.parse(text.encode()))


@pytest.mark.parametrize("written", ["[{}]", "{}"])
def test_json_keeps_numbers_that_are_too_large_for_floats(written: str) -> None:
    large = [10**22 + 1, 10**22 + 2]
    entries = [
        json.dumps({"type": "ok", "process": at, "value": [["append", 0, value]]})
        for at, value in enumerate(large)
    ]
    text = written.format((", " if written != "{}" else "\n").join(entries))
    found = jepsen.parse(text.encode())
    assert [found.value(op) for op in range(len(found.tx))] == large


def test_what_is_alike_in_python_is_not_the_same_key() -> None:
    said = lines("0 ok [[:w 1 1]]", "1 ok [[:w 1.0 2]]", "2 ok [[:w true 3]]", '3 ok [[:w "1" 4]]')
    assert len(jepsen.parse(said.encode()).keys) == 4


APART = ['"k"', ":k", "k", '":k"', "1", '"1"', "1.0", "true", '"true"', r"\k", r'"\\k"', "#{1 2}"]
"""Values of EDN that are not the same, as it writes them."""


@pytest.mark.parametrize("other", ["true", "1.0", "1M"])
def test_elements_that_are_alike_in_python_are_two(other: str) -> None:
    own = lines("0 ok [[:append :x 1]]", f"1 ok [[:append :x {other}] [:r :x [1]]]")
    assert {"internal", "missed-own-write"} <= set(verdict_of(own, "read-committed").types)
    again = lines("0 ok [[:append :x 1]]", f"1 ok [[:r :x [1]] [:r :x [{other}]]]")
    assert "internal" in verdict_of(again, "read-atomic").types
    copies = lines(f"0 ok [[:append :x 1] [:append :x {other}]]", "1 ok [[:r :x [1]]]",
                   f"2 ok [[:r :x [{other}]]]")  # fmt: skip
    for model in ("read-uncommitted", "strict-serializable"):
        found = verdict_of(copies, model)
        assert "incompatible-order" in found.types
        assert any("disagree at element 1" in one.explanation for one in found.anomalies)


def test_values_that_differ_in_edn_differ_and_are_printed_as_written() -> None:
    said = [f"[:w {key} {value}]" for key, value in zip(APART, reversed(APART), strict=True)]
    history = jepsen.parse(lines(f"0 invoke [{' '.join(said)}]").encode())
    assert [history.notation(key) for key in history.keys] == APART
    assert [
        history.notation(value) for value in map(history.value, range(len(history.tx)))
    ] == APART[::-1]
    same = jepsen.parse(lines("0 invoke [[:w #{1 2} 1] [:w #{2 1} 2]]").encode())
    assert len(same.keys) == 1


def test_the_argument_is_in_the_notation_of_the_file() -> None:
    said = lines('0 fail [[:w "1" :a]]', '1 ok [[:r 1 nil] [:r "1" :a]]')
    [anomaly] = verdict_of(said, "read-committed").anomalies
    assert '= [[:r 1 nil] [:r "1" :a]] (process 1, line 2)' in anomaly.explanation
    assert 'read :a at key "1"' in anomaly.explanation
    entries = [
        {"type": "fail", "process": 0, "value": [["w", "1", ":a"]]},
        {"type": "ok", "process": 1, "value": [["r", 1, None], ["r", "1", ":a"]]},
    ]
    text = "".join(f"{json.dumps(one)}\n" for one in entries)
    [anomaly] = verdict_of(text, "read-committed").anomalies
    assert '= [["r", 1, null], ["r", "1", ":a"]] (process 1, line 2)' in anomaly.explanation
    assert 'read ":a" at key "1"' in anomaly.explanation


@pytest.mark.parametrize("workload", [APPENDS, REGISTERS])
def test_json_and_edn_are_recognised(workload: str) -> None:
    made = history(Shape(5, workload), seed=1)
    assert edn.is_edn(synthetic.edn(made).encode())
    assert not json_lines.is_json(synthetic.edn(made).encode())
    assert json_lines.is_json(synthetic.json_lines(made).encode())
    assert not jepsen.recognises(b'{"event":"Header","format":1}')


def test_a_long_text_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that the fast way leaves to the parser, and new shapes, stand in all parts."""
    odd = PLAIN.replace(":index 1,", ":index 1, :error {:a 1},").splitlines()
    text = "\n".join([*odd[:9], "; a comment", *odd[9:60], '{:process :nemesis, :value "x"}',
                      *odd[60:]]).encode()  # fmt: skip
    whole = alike.read(text, edn.FORMAT)
    monkeypatch.setattr(alike, "CHUNK", 700)
    monkeypatch.setattr(alike, "TOGETHER", 3)
    parts = alike.read(text, edn.FORMAT)
    assert whole is not None
    assert parts is not None
    assert len(text) > 9 * 700
    assert parts.left == whole.left != []
    for one, other in zip(whole[:4], parts[:4], strict=True):
        assert np.array_equal(one, other)
    one, other = whole.operations, parts.operations
    for name in ("first", "count", "function", "key", "form", "length"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    every = range(len(one.key))
    assert [*map(one.value_of, every)] == [*map(other.value_of, every)]


def test_a_list_that_begins_as_a_longer_one_stands_once() -> None:
    """Lists that differ anywhere, and those of other keys, keep their own elements."""
    lists = [[1], [1, 2], [1, 2, 3], [1, 3], [2], [1, 2, 3], [], None]
    shown = [(key, one) for key in (7, 8) for one in (lists if key == 7 else [[1, 2], [1, 2, 9]])]
    text = "".join(
        f"{{:type :ok, :f :txn, :value [[:r {key} {'nil' if one is None else one}] "
        f"[:append 9 {at}]], :process 0, :index {at}}}\n"
        for at, (key, one) in enumerate(shown)
    )
    found = alike.read(text.encode(), edn.FORMAT)
    assert found is not None
    of = found.operations
    reads, appends = range(0, len(of.key), 2), range(1, len(of.key), 2)
    assert [of.value_of(op) for op in reads] == [one for _, one in shown]
    assert [of.value_of(op) for op in appends] == [*range(len(shown))]
    elements = sum(len(one) for one in ([1, 2, 3], [1, 3], [2], [1, 2, 9]))
    assert len(of.number) == elements + len(shown)


@pytest.mark.parametrize(
    ("ended", "told", "types"),
    [
        ("ok", "[[:r :x [1]] [:append :y 1]]", ("G1c-process",)),
        ("info", "[[:r :x] [:append :y 1]]", ()),
        ("fail", "[[:r :x] [:append :y 1]]", ("G1a",)),
    ],
)
def test_a_read_without_an_answer_may_lack_the_place_of_its_value(
    ended: str, told: str, types: tuple[str, ...]
) -> None:
    """So do the invocations of issue 21 of Elle; an answer has one."""
    text = lines(
        "1 invoke [[:r :x] [:append :y 1]]", f"1 {ended} {told}", "2 invoke [[:r :y]]",
        "2 ok [[:r :y [1]]]", "2 invoke [[:append :x 1]]", "2 ok [[:append :x 1]]",
    )  # fmt: skip
    verdict = verdict_of(text)
    assert (verdict.types, verdict.notes) == (types, ())
    unanswered = verdict_of(lines("1 ok [[:r :x]]", "2 ok [[:append :x 1]]"))
    assert any("is no operation" in note for note in unanswered.notes)


def test_so_may_one_in_json() -> None:
    asked, told = [["r", "x"]], [["r", "x", []]]
    entries = ({"type": "invoke", "value": asked}, {"type": "ok", "value": told})
    text = "".join(f"{json.dumps({'process': 0, 'f': 'txn', **one})}\n" for one in entries)
    assert verdict_of(text).valid is True


@pytest.mark.parametrize("text", [f"{OTHER} #_\n{OTHER}\n", f"{OTHER}\n#_"])
def test_an_entry_is_not_taken_or_left_out_where_it_is_unsure(text: str) -> None:
    assert verdict_of(text).valid == "unknown"
