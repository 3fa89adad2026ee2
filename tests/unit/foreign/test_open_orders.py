"""Where versions have no known order: no order explains some histories, and that is told."""

import pytest

from ddlsim.foreign.inference import open_orders
from ddlsim.foreign.inference.open_orders import Settled
from tests.support.register_cases import lines, verdict_of

SKEW = lines(
    "0 invoke [[:r 0 nil] [:append 1 1] [:append 2 1]]",
    "1 invoke [[:r 1 nil] [:append 0 1] [:append 2 2]]",
    "0 ok [[:r 0 []] [:append 1 1] [:append 2 1]]",
    "1 ok [[:r 1 []] [:append 0 1] [:append 2 2]]",
)
"""Write skew of two that also append to key 2, which nobody reads: they may not overlap."""


def test_of_lists_finds_no_order_of_unread_appends() -> None:
    verdict = verdict_of(SKEW, "snapshot-isolation")
    assert verdict.valid is False
    assert verdict.types == ("cyclic-versions",)
    assert verdict.ruled_out[0] == "snapshot-isolation"
    assert verdict_of(SKEW.replace("[:append 2 2]", "[:append 3 2]"), "snapshot-isolation").valid


def test_without_the_search_the_answer_would_be_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_orders, "of_lists", lambda *_: Settled(None))
    assert verdict_of(SKEW, "snapshot-isolation").valid == "unknown"


def test_an_indeterminate_append_that_was_read_has_happened_whole() -> None:
    text = lines(
        "0 invoke [[:append 0 1] [:append 1 1]]", "0 info [[:append 0 1] [:append 1 1]]",
        "1 invoke [[:r 0 nil] [:r 1 nil]]", "1 ok [[:r 0 [1]] [:r 1 []]]",
    )  # fmt: skip
    assert verdict_of(text, "read-committed").valid is True
    assert "fractured-read" in verdict_of(text, "read-atomic").types
    assert verdict_of(text, "snapshot-isolation").valid is False


def test_orders_of_registers_that_contradict_each_other_are_no_facts() -> None:
    """Two saw one writer whole, and each of them another value of key 0 as the newer one."""
    text = lines(
        "0 invoke [[:w 0 1] [:w 1 1]]", "1 invoke [[:w 0 2] [:w 2 1]]",
        "2 invoke [[:r 2 nil] [:r 0 nil]]", "3 invoke [[:r 1 nil] [:r 0 nil]]",
        "0 ok [[:w 0 1] [:w 1 1]]", "1 ok [[:w 0 2] [:w 2 1]]",
        "2 ok [[:r 2 1] [:r 0 1]]", "3 ok [[:r 1 1] [:r 0 2]]",
    )  # fmt: skip
    for model in ("read-atomic", "snapshot-isolation", "strict-serializable"):
        verdict = verdict_of(text, model)
        assert verdict.types == ("cyclic-versions",)
        assert verdict.ruled_out[0] == "read-atomic"
    assert "although it saw" in verdict.anomalies[0].explanation


@pytest.mark.parametrize(("write", "read"), [("append", "[1]"), ("w", "1")])
def test_a_read_of_an_own_later_write_is_a_future_read(write: str, read: str) -> None:
    text = lines(f"0 invoke [[:r 0 nil] [:{write} 0 1]]", f"0 ok [[:r 0 {read}] [:{write} 0 1]]")
    for model in ("read-committed", "read-atomic", "serializable"):
        verdict = verdict_of(text, model)
        assert verdict.valid is False
        assert "future-read" in verdict.types
