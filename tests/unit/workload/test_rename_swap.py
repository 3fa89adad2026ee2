"""Two tables swap names and end up, after an even number of swaps, where they were."""

import pytest

from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import DdlItem, TransactionItem
from tests.support.workloads import TABLES, programs, workload, world


@pytest.mark.parametrize("swaps", [1, 2, 5])
def test_the_tables_exchange_their_names(swaps: int) -> None:
    swapper = programs("rename_swap", swaps=swaps)[0]
    names = {"t": "one", "u": "other"}
    for item in swapper.items:
        assert isinstance(item, DdlItem)
        _, _, old, _, _, new = item.sql.split()
        assert new not in names
        names[new] = names.pop(old)

    assert names == ({"t": "other", "u": "one"} if swaps % 2 else {"t": "one", "u": "other"})


def test_transactions_use_both_names() -> None:
    _, user = programs("rename_swap", operations=50, transaction_operations=4)
    used = [
        {operation.table for operation in item.operations if isinstance(operation, Get | Put)}
        for item in user.items
        if isinstance(item, TransactionItem)
    ]
    assert len(used) == 50
    assert used.count({"t", "u"}) > 30


def test_one_table_cannot_be_swapped() -> None:
    only_t = world(sql=TABLES.split(";")[0])
    with pytest.raises(ValueError, match="tables: a swap takes two of them"):
        workload("rename_swap").fits(only_t)
