"""Others use what a DDL did, on other nodes, without waiting and without a token."""

from ddlsim.model.ops import Ddl
from ddlsim.sql import parse
from tests.support.workloads import steps, world


def test_users_come_right_after_the_answer_on_other_nodes() -> None:
    made = steps("read_own_ddl", clients=3, operations=20)
    ddl = {step.id: step for step in made if isinstance(step.do, Ddl)}
    users = [step for step in made if step.id not in ddl]

    assert (len(ddl), len(users)) == (20, 60)
    for user in users:
        assert user.after is not None
        statement = ddl[user.after.removesuffix(".done")]
        assert user.node != statement.node
        assert (user.plus_us, user.tx, user.session) == (0, None, False)
    assert len({user.client for user in users}) == 60


def test_one_statement_follows_the_other() -> None:
    made = [s for s in steps("read_own_ddl", operations=9) if isinstance(s.do, Ddl)]

    assert [step.after for step in made] == [None, *(f"{step.id}.done" for step in made[:-1])]
    assert [step.at_us is None for step in made] == [False] + [True] * 8
    assert {step.client for step in made} == {"w-ddl"}


def test_only_columns_that_were_added_are_dropped() -> None:
    made = [s.do for s in steps("read_own_ddl", operations=60, drops=0.5) if isinstance(s.do, Ddl)]
    columns: list[tuple[str, str]] = []
    for do in made:
        words = do.sql.split()
        assert len(parse(do.sql)) == 1
        if words[3] == "ADD":
            columns.append((words[2], words[5]))
        else:
            columns.remove((words[2], words[5]))
    assert len(set(columns)) == len(columns)
    assert 15 < sum("DROP" in do.sql for do in made) < 45


def test_on_a_single_node_users_ask_the_same_node() -> None:
    made = steps("read_own_ddl", there=world(nodes=("n1",)), operations=2)
    assert {step.node for step in made} == {"n1"}
