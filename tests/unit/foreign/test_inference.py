"""What follows from what was read, in sessions and in time; and when it does not, a good guess."""

import pytest

from ddlsim.foreign.inference import inference, lists, registers
from tests.support.jepsen_histories import REGISTERS, Shape, history
from tests.support.register_cases import lines, verdict_of, verdict_on


def stale(*asked: str) -> str:
    """Two values of register 0, made as is said; who saw the second is seen by who saw the first.

    All are concurrent but for what the processes say.
    """
    later = ["8 invoke [[:r 0 nil] [:w 1 1]]", "9 invoke [[:r 1 nil] [:r 0 nil]]"]
    answers = ["8 ok [[:r 0 2] [:w 1 1]]", "9 ok [[:r 1 1] [:r 0 1]]"]
    return lines(*later, *asked, *answers)


def test_what_a_transaction_wrote_comes_after_what_it_read() -> None:
    blind = ["0 invoke [[:w 0 1]]", "1 invoke [[:w 0 2]]", "0 ok [[:w 0 1]]", "1 ok [[:w 0 2]]"]
    assert verdict_of(stale(*blind), "serializable").valid is True
    told = [one.replace("[[:w 0 2]]", "[[:r 0 1] [:w 0 2]]") for one in blind]
    verdict = verdict_of(stale(*told), "serializable")
    assert verdict.valid is False
    assert "G-single" in verdict.types


def test_a_process_writes_in_its_order() -> None:
    asked = ["0 invoke [[:w 0 1]]", "0 ok [[:w 0 1]]", "0 invoke [[:w 0 2]]", "0 ok [[:w 0 2]]"]
    assert verdict_of(stale(*asked), "serializable").valid is True
    verdict = verdict_of(stale(*asked), "strong-session-serializable")
    assert verdict.valid is False
    assert any(type_.endswith("-process") for type_ in verdict.types)


def test_session_edges_do_not_start_at_unanswered_transactions() -> None:
    text = lines(
        "0 invoke [[:append 1 1]]", "0 info [[:append 1 1]]",
        "0 invoke [[:r 1 nil]]", "0 ok [[:r 1 []]]", "2 invoke [[:r 1 nil]]", "2 ok [[:r 1 [1]]]",
    )  # fmt: skip
    assert verdict_of(text, "strong-session-serializable").valid is True
    assert verdict_of(text).valid is True


@pytest.mark.parametrize("level", ["strict-serializable", "snapshot-isolation"])
def test_valid_registers_are_found_valid(level: str) -> None:
    found = [
        verdict_on(history(Shape(40, REGISTERS, processes=4, keys=4), seed), level).valid
        for seed in range(30)
    ]
    assert False not in found
    assert found.count(True) == 30, found


def test_a_reader_of_one_write_counts_as_reader_of_all_writes() -> None:
    """Each reader saw something of both writers, and they disagree on who was the later one."""
    text = lines(
        "0 invoke [[:w 0 1] [:w 1 1]]", "1 invoke [[:w 0 2] [:w 2 1]]",
        "2 invoke [[:r 2 nil] [:r 0 nil]]", "3 invoke [[:r 1 nil] [:r 0 nil]]",
        "0 ok [[:w 0 1] [:w 1 1]]", "1 ok [[:w 0 2] [:w 2 1]]",
        "2 ok [[:r 2 1] [:r 0 1]]", "3 ok [[:r 1 1] [:r 0 2]]",
    )  # fmt: skip
    assert verdict_of(text, "snapshot-isolation").valid is False
    assert verdict_of(text, "read-committed").valid is True


def many(read: str, write: str) -> str:
    """Five transactions read that nothing was written, five others write: all of them at once."""
    asked = dict.fromkeys(range(5), "[[:r 0 nil]]")
    asked |= {9 + at: f"[[{write} 0 {at}] [:r {at} nil]]" for at in range(1, 6)}
    return lines(
        *(f"{of} invoke {said}" for of, said in asked.items()),
        *(f"{of} ok {said.replace('nil', read)}" for of, said in asked.items()),
    )


@pytest.mark.parametrize(("read", "write"), [("[]", ":append"), ("nil", ":w")])
def test_pairs_that_were_left_out_make_a_verdict_unknown(
    read: str, write: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a graph without a cycle says nothing of the whole."""
    text = many(read, write)
    assert verdict_of(text).valid is True
    for module in (inference, lists, registers):
        monkeypatch.setattr(module, "MOST_PAIRS", 8)
    verdict = verdict_of(text)
    assert verdict.valid == "unknown"
    assert any("not every read of key 0 was compared" in note for note in verdict.notes)


def test_readers_of_the_longest_list_precede_unread_appends() -> None:
    """And not before himself."""
    asked = [
        *(f"{at} invoke [[:r 0 nil]]" for at in range(3)),
        "3 invoke [[:r 7 nil] [:r 0 nil]]",
        *(f"{9 + at} invoke [[:append 0 {at}] [:append 7 {at}]]" for at in range(4)),
        "20 invoke [[:r 0 nil] [:append 0 20]]",
    ]
    told = [one.replace(" invoke ", " ok ").replace("0 nil", "0 []") for one in asked]
    clean = [one.replace("7 nil", "7 []") for one in told]
    assert verdict_of(lines(*asked, *clean), "serializable").valid is True
    torn = [one.replace("7 nil", "7 [2]") for one in told]
    verdict = verdict_of(lines(*asked, *torn), "serializable")
    assert verdict.valid is False
    assert "G-single" in verdict.types


def test_an_element_shown_again_makes_no_read_of_it_older_than_its_append() -> None:
    asked = [
        *(f"{at} invoke [[:append 0 {at}]]" for at in (1, 2, 3)),
        *(f"{at} invoke [[:r 0 nil]]" for at in (4, 5)),
    ]
    told = [one.replace(" invoke ", " ok ") for one in asked]
    shown = zip(told, ["", "", "", "[1 2 3]", "[1 2 3 1]"], strict=True)
    text = lines(*asked, *(one.replace("nil", read) for one, read in shown))
    assert verdict_of(text, "serializable").types == ("duplicate-elements",)
