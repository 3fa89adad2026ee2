"""Many anomalies that a model allows hide none that it forbids."""

import pytest

from ddlsim.foreign.inference import inference, lists
from ddlsim.foreign.inference.inference import MOST_FOUND
from tests.support.register_cases import lines, verdict_of

MANY = MOST_FOUND + 1
WRITES = {"w": ("nil", "1"), "append": ("[]", "[1]")}
"""What a key holds at first, and after a write of 1, by the function that writes."""


def non_repeatable(write: str) -> list[str]:
    """Two reads of a key in a transaction, before and after a write: read-committed allows it."""
    before, after = WRITES[write]
    return [
        entry
        for key in range(MANY)
        for entry in (
            f"0 invoke [[:{write} {key} 1]]", f"1 invoke [[:r {key} nil] [:r {key} nil]]",
            f"1 ok [[:r {key} {before}] [:r {key} {after}]]", f"0 ok [[:{write} {key} 1]]",
        )
    ]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize(
    ("operations", "type_"),
    [("[:r k AFTER] [:W k 1]", "future-read"), ("[:W k 1] [:r k BEFORE]", "missed-own-write")],
)
def test_reads_that_are_allowed_hide_none_that_is_not(
    write: str, operations: str, type_: str
) -> None:
    before, after = WRITES[write]
    told = operations.replace("W", write).replace("k", str(MANY))
    told = told.replace("BEFORE", before).replace("AFTER", after)
    asked = told.replace(before, "nil").replace(f"[:r {MANY} {after}]", f"[:r {MANY} nil]")
    text = lines(*non_repeatable(write), f"0 invoke [{asked}]", f"0 ok [{told}]")
    verdict = verdict_of(text, "read-committed")
    assert verdict.valid is False
    assert dict(verdict.counts)[type_] == 1
    assert dict(verdict.counts)["internal"] == MOST_FOUND
    assert f"no more than {MOST_FOUND:,} were counted of internal" in verdict.notes
    assert "read-uncommitted" not in verdict.ruled_out


@pytest.mark.parametrize("model", ["read-atomic", "snapshot-isolation", "serializable"])
def test_a_pair_that_was_not_compared_hides_no_fractured_read(
    monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """No edge leads from the first one, which saw 2 at key 0 and not 3 at key 1, to the writer."""
    for module in (inference, lists):
        monkeypatch.setattr(module, "MOST_PAIRS", 1)
    text = lines(
        "4 invoke [[:append 1 3] [:append 0 2]]", "0 invoke [[:r 0 nil] [:r 1 nil]]",
        "0 ok [[:r 0 [2]] [:r 1 []]]", "0 invoke [[:r 0 nil] [:r 1 nil]]",
        "0 ok [[:r 0 []] [:r 1 []]]", "0 invoke [[:append 1 1]]", "0 ok [[:append 1 1]]",
        "0 invoke [[:append 0 1] [:append 1 2]]", "0 ok [[:append 0 1] [:append 1 2]]",
        "4 info [[:append 1 3] [:append 0 2]]",
    )  # fmt: skip
    verdict = verdict_of(text, model)
    assert (verdict.valid, verdict.types) == (False, ("fractured-read",))
    assert any("was compared with every write" in note for note in verdict.notes)


def test_elements_of_aborted_transactions_hide_none_of_no_transaction() -> None:
    elements = range(4 * MANY)
    undone = [f"0 {how} [[:append 1 {one}]]" for one in elements for how in ("invoke", "fail")]
    text = lines(
        *undone, "1 invoke [[:append 2 1]]", "1 ok [[:append 2 1]]", "1 invoke [[:r 1 nil]]",
        f"1 ok [[:r 1 [{' '.join(map(str, elements))}]]]", "1 invoke [[:r 2 nil]]",
        "1 ok [[:r 2 [1 77]]]",
    )  # fmt: skip
    verdict = verdict_of(text, "read-uncommitted")
    assert verdict.valid is False
    assert dict(verdict.counts) == {"garbage-read": 1}
