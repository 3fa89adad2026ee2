"""The expected share of aborts: the closed forms, and what statements they are of."""

import random
from math import exp, isclose
from typing import Any

import pytest

from ddlsim.verify.abort_share import DESIGNS, expected_abort_share, with_rates
from tests.support.linting import lint

SCHEMA = """CREATE TABLE Accounts (id INT PRIMARY KEY, v INT);
CREATE TABLE log (id INT PRIMARY KEY, v INT); CREATE TABLE idle (id INT PRIMARY KEY)"""


def share(**changed: Any) -> float:
    values = {"ddl_rate": 0.5, "tx_length": 2.0, "incompatible_share": 0.25, "working_share": 0.5}
    return expected_abort_share(**(values | changed))


def rated(
    *statements: str, ddl_rate: float = 0.1, tx_length: float = 3.0, baseline: str = "iep"
) -> dict[str, Any]:
    report = lint(SCHEMA, ";\n".join(statements), baseline)
    rates = with_rates(report, ddl_rate=ddl_rate, tx_length=tx_length)
    found: dict[str, Any] = rates["expected_abort_share"]
    return found


def test_the_closed_form_of_a_constant_length() -> None:
    assert isclose(share(), 1 - exp(-0.5 * (1.0 + 0.25 * 1.0)))
    assert isclose(share(working_share=0.0), 1 - exp(-0.5 * 0.25 * 2))
    assert isclose(share(working_share=1.0), 1 - exp(-0.5 * 2))
    assert isclose(share(incompatible_share=1.0), 1 - exp(-0.5 * 2))
    assert share(ddl_rate=0.0) == share(tx_length=0.0) == 0.0


def test_the_closed_form_of_an_exponential_length() -> None:
    assert isclose(share(exponential=True, working_share=1.0), 1.0 / 2.0)
    assert isclose(share(exponential=True, working_share=0.0), 0.25 / 1.25)
    assert share(exponential=True) < share()


@pytest.mark.parametrize("exponential", [False, True])
@pytest.mark.parametrize("working", [0.0, 0.4, 1.0])
def test_the_closed_form_is_what_a_stream_of_statements_does(
    working: float, exponential: bool
) -> None:
    """Statements thrown upon 20,000 transactions abort that share of them, to three deviations."""
    dice, rate, length, bad, trials = random.Random(7), 0.3, 2.0, 0.25, 20_000
    aborted = 0
    for _ in range(trials):
        lasts = dice.expovariate(1 / length) if exponential else length
        at = dice.expovariate(rate)
        while at < lasts and at >= working * lasts and dice.random() >= bad:
            at += dice.expovariate(rate)
        aborted += at < lasts
    due = share(
        ddl_rate=rate,
        tx_length=length,
        incompatible_share=bad,
        working_share=working,
        exponential=exponential,
    )
    assert abs(aborted / trials - due) < 3 * (due * (1 - due) / trials) ** 0.5


def test_rates_count_the_statements_that_change_something() -> None:
    found = rated(
        "ALTER TABLE accounts ADD COLUMN a INT",
        "ALTER TABLE accounts DROP COLUMN a",
        "DROP TABLE IF EXISTS nothing",
        "DROP TABLE nothing",
        "CREATE TABLE new (id INT PRIMARY KEY)",
        "CREATE ZONE z",
    )
    assert (found["statements"], found["incompatible_share"]) == (2, 0.5)
    assert isclose(found["option_3"], 1 - exp(-0.3))
    assert isclose(found["option_3_one_operation"], 1 - exp(-0.15))
    assert isclose(found["options_1_and_2"], 1 - exp(-0.15))
    assert isclose(found["exact_match"], 1 - exp(-0.3))
    assert isclose(found["exponential_length"]["option_3"], 0.3 / 1.3)


def test_each_table_has_its_own_mix_under_whatever_name() -> None:
    found = rated(
        "ALTER TABLE accounts ADD COLUMN a INT",
        "ALTER TABLE log RENAME TO old",
        "ALTER TABLE old DROP COLUMN v",
    )["tables"]
    told = {name: (one["statements"], one["incompatible_share"]) for name, one in found.items()}
    assert told == {"Accounts": (1, 0.0), "log": (2, 1.0), "idle": (0, 0.0)}
    assert [found["idle"][design] for design in DESIGNS] == [0.0] * len(DESIGNS)
    assert found["Accounts"]["options_1_and_2"] == 0.0
    assert isclose(found["log"]["options_1_and_2"], 1 - exp(-0.3))


@pytest.mark.parametrize(
    ("statements", "changing", "incompatible"),
    [
        (("CREATE INDEX i ON log (v)", "DROP INDEX i"), 0.0, 0.0),
        (("CREATE INDEX i ON log (v)", "ALTER TABLE log ADD COLUMN a INT"), 0.5, 0.0),
        (("CREATE INDEX i ON log (v)", "ALTER TABLE log RENAME TO old"), 0.5, 0.5),
        (("ALTER TABLE log ADD COLUMN a INT", "ALTER TABLE log DROP COLUMN v"), 1.0, 0.5),
    ],
)
def test_what_makes_no_version_in_ignite_3_aborts_no_operation(
    statements: tuple[str, ...], changing: float, incompatible: float
) -> None:
    """A rename makes none either, but a commit after it is refused all the same."""
    found = rated(*statements, baseline="ignite3")
    every = (found, found["tables"]["log"])
    for one in every:
        assert isclose(one["option_3"], 1 - exp(-0.3 * changing))
        assert isclose(one["exact_match"], 1 - exp(-0.3 * changing))
        assert isclose(one["options_1_and_2"], 1 - exp(-0.3 * incompatible))
    deaths = 0.3 * changing
    assert isclose(found["exponential_length"]["option_3"], deaths / (1 + deaths))
    assert isclose(rated(*statements)["option_3"], 1 - exp(-0.3))


def test_rates_without_changes_give_no_aborts() -> None:
    assert [rated("", ddl_rate=1, tx_length=1)[design] for design in DESIGNS] == [0.0] * 4


def test_rates_do_not_count_the_creation_of_tables() -> None:
    report = lint(None, "CREATE TABLE a (id INT, v INT); ALTER TABLE a DROP COLUMN v")
    found = with_rates(report, ddl_rate=1, tx_length=1)["expected_abort_share"]
    assert (found["statements"], found["incompatible_share"]) == (1, 1.0)


@pytest.mark.parametrize("exponential", [False, True])
def test_rates_without_bounds_and_the_smallest_have_a_share(*, exponential: bool) -> None:
    huge = {"ddl_rate": 1e300, "tx_length": 1e300, "exponential": exponential}
    assert share(**huge) == 1
    assert share(**huge, working_share=0.0, incompatible_share=0.0) == 0
    small = share(ddl_rate=1e-20, tx_length=1.0, working_share=1.0, exponential=exponential)
    assert small == pytest.approx(1e-20)
