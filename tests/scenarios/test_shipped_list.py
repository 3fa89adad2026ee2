"""Fingerprint, verdict and exit codes of every shipped scenario are those of `shipped.txt`."""

import pytest

from ddlsim.scenario.shipped import shipped
from tests.scenarios.shipped import listed, now


def test_the_list_names_every_scenario() -> None:
    assert sorted(listed()) == sorted(shipped())


@pytest.mark.parametrize("name", shipped())
def test_a_scenario_has_its_line_of_the_list(name: str) -> None:
    """Two runs of one tree agree, and so do two trees that mean the same."""
    assert now(name) == listed()[name]
