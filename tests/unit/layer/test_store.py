"""Transactions that are run until they have committed."""

import pytest

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.kernel.engine import Loop, SimulationCrashed
from ddlsim.layer.store import run
from tests.scenarios.runs import overridden
from tests.support.protocol import result_of


class Transaction:
    """Commits fail with the given errors, then succeed."""

    def __init__(self, errors: list[ErrorCode]) -> None:
        self.errors = errors
        self.steps: list[str] = []

    async def commit(self) -> int:
        self.steps.append("commit")
        if self.errors:
            raise FdbError(self.errors.pop(0))
        return 1

    async def on_error(self, error: FdbError) -> None:
        if not error.code.retriable:
            raise error
        self.steps.append("rest")


class Store:
    def __init__(self, *errors: ErrorCode) -> None:
        self.made: list[Transaction] = []
        self.errors = list(errors)

    def transaction(self) -> Transaction:
        self.made.append(Transaction(self.errors))
        return self.made[-1]


async def attempt(transaction: Transaction) -> str:
    transaction.steps.append("attempt")
    return "done"


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_transaction_is_tried_again_until_it_has_committed_and_is_the_same_one(
    failures: int,
) -> None:
    store = Store(*[ErrorCode.NOT_COMMITTED] * failures)
    assert result_of(Loop(), run(store, attempt)) == "done"
    (transaction,) = store.made
    assert transaction.steps == ["attempt", "commit", "rest"] * failures + ["attempt", "commit"]


def test_what_no_further_attempt_would_mend_is_raised() -> None:
    store = Store(ErrorCode.NOT_COMMITTED, ErrorCode.TRANSACTION_TOO_LARGE)
    with pytest.raises(SimulationCrashed, match="2101: larger"):
        result_of(Loop(), run(store, attempt))
    assert store.made[0].steps == ["attempt", "commit", "rest", "attempt", "commit"]


@pytest.mark.parametrize(
    ("name", "values"), [("fdb.backoff_ms", (1, 10)), ("fdb.backoff_most_ms", (20, 1000))]
)
def test_the_layer_rests_as_the_settings_of_the_store_say(
    name: str, values: tuple[int, int]
) -> None:
    prints = {
        tuple(run.fingerprint for run in overridden("strategies/C16-C0", {name: value}).runs)
        for value in values
    }
    assert len(prints) == 2
