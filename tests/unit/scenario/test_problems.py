"""Where data does not fit a record: the place and the words, found without msgspec's messages."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect

from ddlsim.scenario import config
from ddlsim.scenario.problems import Origin, ScenarioError, convert, fields_of, misfit

KINDS = (config.Protocol, config.Network, config.Clocks, config.Cluster, config.Link, config.Run)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.floats(-2, 2), st.text("ab", max_size=2)
)
TABLES = st.dictionaries(
    st.sampled_from(["distribution", "low", "high", "median", "p99", "value", "n1"]),
    st.one_of(SCALARS, st.sampled_from(["uniform", "constant", "lognormal", "normal"])),
    max_size=3,
)
VALUES = st.one_of(SCALARS, TABLES, st.lists(st.one_of(SCALARS, TABLES), max_size=2))


@st.composite
def documents(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    kind = draw(st.sampled_from(KINDS))
    keys = st.sampled_from([*fields_of(kind), "nonsense"])
    return kind, draw(st.dictionaries(keys, VALUES, max_size=3))


@given(documents())
def test_misfit_finds_a_place_where_msgspec_refuses(what: tuple[Any, Any]) -> None:
    kind, data = what
    try:
        msgspec.convert(data, kind)
        refused = False
    except msgspec.ValidationError:
        refused = True
    found = misfit(data, inspect.type_info(kind), ())
    assert (found is not None) is refused
    below = data
    for part in found[0][:-1] if found else ():
        below = below[part]  # the place is one in the data


def test_a_key_that_a_dataclass_lacks_is_refused() -> None:
    from ddlsim.workload.base import WORKLOADS

    kind = WORKLOADS.get("mixed")
    with pytest.raises(ScenarioError, match=r"^a:1: workload\.clinets: unknown key; did you mean"):
        convert({"clinets": 3}, kind, Origin("a", "[workload]"), ("workload",))
