"""Which update the space-time picture shows as in force: computed again from the events."""

from typing import Final

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.cli.picture.state import states
from ddlsim.history.events import UpdateApplied, UpdateLogged
from ddlsim.units import Timestamp, physical_ms
from tests.support.drawn_pictures import SKEWED, STORIES, Drawn, drawn_of, nodes_of, pieces

OUT_OF_ORDER: Final = "findings/F-23"
CHANGED_AGAIN: Final = "generated/ddl_storm"


def drawn_changes(name: str) -> Drawn:
    """F-23 for its I3; a storm for what is about D13 alone, which D14 replaces meanwhile."""
    if name == CHANGED_AGAIN:
        return drawn_of(name, {"strategy.mutant": "no_completeness_wait"}, which=19)
    return drawn_of(name, which=1 if name == OUT_OF_ORDER else 0)


def in_force_at(case: Case, end: int, node: str, at_us: int) -> dict[int, int]:
    """By table, the update that made what a node has in force: the catalog of the largest Tu."""
    piece = [one for one in pieces(case, node) if one.from_us <= at_us][-1]
    clock_ms = piece.shows_us(at_us) // 1000
    logged = [one for one in case.history.events if isinstance(one, UpdateLogged)]
    applied = {
        one.catalog_version
        for one in case.history.events[:end]
        if isinstance(one, UpdateApplied) and one.node == node
    }
    reached = [
        (one.activation_ts, one.catalog_version)
        for one in logged
        if one.op is None or one.catalog_version in applied
        if physical_ms(Timestamp(one.activation_ts)) <= clock_ms
    ]
    _, newest = max(reached)
    changes = [(one.catalog_version, each.object_id) for one in logged for each in one.objects]
    return {table: version for version, table in sorted(changes) if version <= newest}


@pytest.mark.parametrize("name", [*STORIES, SKEWED, OUT_OF_ORDER, CHANGED_AGAIN])
def test_the_colour_beside_a_step_is_that_of_the_update_in_force(name: str) -> None:
    drawn = drawn_changes(name)
    case, space = drawn.case, drawn.space
    colours = {int(text.removeprefix("D")): colour for colour, text in space.colours}
    told = 0
    for lane in nodes_of(drawn):
        bands = [one for one in space.bands if one.look.startswith("force")]
        for row in (one for one in space.layout.rows if one.shown.step.lane == lane.name):
            step = row.shown.step
            wanted = []  # before and after the step, which may apply an update
            for end in (step.first, step.last + 1):
                made = in_force_at(case, end, lane.name, step.at_us)
                newest = max(colours.get(made.get(table, 0), 0) for table in space.tables)
                wanted.append(f"force v{newest}")
            [look] = [
                one.look for one in bands if one.x == lane.x - 5 and one.top <= row.y < one.bottom
            ]
            assert look in wanted, (lane.name, step)
            told += wanted[0] == wanted[1]
    assert told


def test_an_update_that_activates_after_a_later_one_is_drawn_with_it() -> None:
    drawn = drawn_changes(OUT_OF_ORDER)
    space = drawn.space
    assert [name for _, name in space.colours] == ["D2", "D3"]
    shown = [row.shown.step for row in space.layout.rows if row.number is not None]
    found = list(states(drawn.case, space.steps, shown, ["n3"], space.tables))
    told = [after["n3", "in force"] for _, after in found]
    assert list(dict.fromkeys(told)) == ["t v1", "t v3", "t v2"]
