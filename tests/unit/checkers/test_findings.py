"""What makes two anomalies the same finding, and what does not."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.base import Anomaly, Step
from ddlsim.checkers.findings import Finding, explained_by, signature
from ddlsim.model.design import DesignHeader
from ddlsim.scenario import findings


def cycle(*pairs: tuple[str, str]) -> Anomaly:
    steps = tuple(Step("a", "b", kind, edge, "so") for kind, edge in pairs)
    return Anomaly("G-single", "a cycle", steps=steps)


F1 = (("D(column-added)", "wr-schema"), ("T", "wr-row"), ("T", "rw-schema[metadata]"))
LONGER = (F1[0], ("T", "rt"), ("T", "wr-row"), F1[1], F1[2])


def test_where_a_cycle_is_entered_does_not_matter() -> None:
    for at in range(3):
        assert signature(cycle(*F1[at:], *F1[:at])) == signature(cycle(*F1))


def test_a_way_past_no_ddl_is_one_edge_that_names_its_kinds() -> None:
    assert signature(cycle(*F1))[2:4] == ("T", "via(wr-row)")
    assert signature(cycle(*LONGER))[2:4] == ("T", "via(rt, wr-row)")
    assert signature(cycle(*F1[:2], F1[1], F1[2])) == signature(cycle(*F1))


def test_a_cycle_without_a_ddl_stays_as_it_is() -> None:
    found = signature(cycle(("T", "rw-row"), ("T", "rw-row"), ("T", "wr-row")))
    assert found == ("T", "rw-row", "T", "rw-row", "T", "wr-row")


def test_a_ddl_of_another_kind_is_another_finding() -> None:
    other = (("D(column-dropped)", "wr-schema"), *F1[1:])
    assert signature(cycle(*other)) != signature(cycle(*F1))


def test_one_transaction_between_two_edges_of_a_ddl() -> None:
    both = cycle(("D(column-added)", "wr-schema"), ("T", "rw-schema[newer-row]"))
    assert signature(both) == ("D(column-added)", "wr-schema", "T", "rw-schema[newer-row]")


def test_changes_in_a_row_are_one_change_of_all_their_kinds() -> None:
    row = (("D(column-renamed)", "ww-schema"), ("D(column-added)", "wr-schema"), *F1[1:])
    for at in range(4):
        found = signature(cycle(*row[at:], *row[:at]))
        assert found[:2] == ("D(column-added, column-renamed)", "wr-schema"), at
        assert found[2:] == signature(cycle(*F1))[2:], at


def test_changes_that_something_else_joins_stay_apart() -> None:
    apart = (("D(column-renamed)", "rt"), ("D(column-added)", "wr-schema"), *F1[1:])
    assert len(signature(cycle(*apart))) == len(signature(cycle(*F1))) + 2


def test_changes_that_only_replace_each_other_stay_as_they_are() -> None:
    circle = (("D(column-added)", "ww-schema"), ("D(column-dropped)", "ww-schema"))
    assert len(signature(cycle(*circle))) == 4


def test_a_change_that_activates_before_what_it_replaced_stays_apart_and_is_f23() -> None:
    way = (
        ("D(column-added)", "ww-schema"),
        ("D(column-added)", "rt"),
        ("T", "rw-schema[metadata]"),
    )
    known = findings.known()
    for back_ms, words, found in (((349, None, None), 6, "F-23"), ((None, None, None), 4, None)):
        anomaly = replace(cycle(*way), back_ms=back_ms)
        assert len(signature(anomaly)) == words
        assert explained_by("I3", anomaly, known) == found
    another = replace(cycle(*way), back_ms=(349, None, 3))
    assert explained_by("I3", another, known) is None


def test_f23_allows_a_compatible_commit_of_what_was_in_force_early_and_no_other() -> None:
    known = [one for one in findings.known() if one.id == "F-23"]
    for early, used, found in (
        ("[in force early]", "[compatible]", "F-23"),
        ("[in force early]", "[metadata]", None),
        ("", "[compatible]", None),
    ):
        way = (
            ("D(column-added)", f"wr-schema{early}"),
            ("T", f"rw-schema{used}"),
            ("D(column-added)", "wr-schema"),
            ("T", "rw-schema[metadata]"),
        )
        anomaly = replace(cycle(*way), back_ms=(914 if early else None, 238, None, None))
        assert explained_by("I3", anomaly, known) == found


def test_anything_else_is_known_by_its_kind_and_clauses() -> None:
    anomaly = Anomaly("incompatible-commit", "T did", clauses=("110.valid.1", "110.column.drop"))
    assert signature(anomaly) == ("incompatible-commit", "110.valid.1", "110.column.drop")


def test_a_cycle_is_no_instance_of_a_finding_without_one() -> None:
    """One invariant may be broken both ways: F-25 breaks I10 by a write that a read misses."""
    missed = [Finding("F-25", "I3", words) for words in (("write-missed",), ("missed", "98.ap"))]
    assert explained_by("I3", cycle(*F1), missed) is None
    assert explained_by("I3", cycle(*F1), [*missed, Finding("F-1", "I3", (*WAY[:-1], "*"))])


def test_a_finding_may_leave_parts_open() -> None:
    pattern = ("D(*)", "wr-schema", "T", "via(*)", "T", "rw-schema[metadata]")
    known = [Finding("F-1", "I3", pattern)]
    assert explained_by("I3", cycle(*F1), known) == "F-1"
    assert explained_by("I3", cycle(*LONGER), known) == "F-1"
    assert explained_by("I5", cycle(*F1), known) is None
    other = (*F1[:2], ("T", "rw-schema[newer-row]"))
    assert explained_by("I3", cycle(*other), known) is None


def test_brackets_in_a_finding_are_no_pattern() -> None:
    known = [Finding("F-1", "I3", ("D(column-added)", "wr-schema", "T", "rw-schema[m]"))]
    assert explained_by("I3", cycle(F1[0], ("T", "rw-schemam")), known) is None
    assert explained_by("I3", cycle(F1[0], ("T", "rw-schema[m]")), known) == "F-1"


def test_a_pattern_matches_wherever_the_cycle_begins() -> None:
    pattern = ("T", "rw-schema[metadata]", "D(*)", "wr-schema", "T", "via(*)")
    assert explained_by("I3", cycle(*F1), [Finding("F-1", "I3", pattern)]) == "F-1"


def test_a_finding_excuses_a_late_use_only_if_it_says_late() -> None:
    """No `*` stands for it: the check at operations rules it out."""
    known = ("D(*)", "wr-schema", "T", "via(*)", "T", "rw-schema*")
    late = cycle(*F1[:2], ("T", "rw-schema[metadata, late]"))
    nothing = cycle(*F1[:2], ("T", "rw-schema[metadata, late, nothing found]"))
    assert explained_by("I3", cycle(*F1), [Finding("F-1", "I3", known)]) == "F-1"
    assert explained_by("I3", late, [Finding("F-1", "I3", known)]) is None
    said = (*known[:-1], "rw-schema[*, late, nothing found]")
    assert explained_by("I3", nothing, [Finding("F-3", "I3", said)]) == "F-3"
    assert explained_by("I3", late, [Finding("F-3", "I3", said)]) is None
    assert explained_by("I3", cycle(*F1), [Finding("F-3", "I3", said)]) is None


def test_what_names_a_late_use_does_not_name_it_as_leading_back() -> None:
    late = replace(cycle(*F1[:2], ("T", "rw-schema[metadata, late]")), back_ms=(None, None, 3))
    for mark, found in (("", None), ("!", "F-14")):
        known = [Finding("F-14", "I3", ("D(*)", "**", "T", f"rw-schema[metadata, late]{mark}"))]
        assert explained_by("I3", late, known) == found
        assert explained_by("I3", replace(late, back_ms=()), known) == "F-14"


def led_back(*back_ms: int | None) -> Anomaly:
    """The cycle of F-1, with those edges that lead back in the order of timestamps."""
    return replace(cycle(*F1), back_ms=back_ms)


WAY = ("D(*)", "**", "T", "via(*w*)", "T", "rw-schema[metadata]!")


def test_a_finding_is_about_the_edge_that_leads_back() -> None:
    known = [Finding("F-1", "I3", WAY)]
    assert explained_by("I3", led_back(None, None, 3), known) == "F-1"
    assert explained_by("I3", led_back(None, 3, None), known) is None
    assert explained_by("I3", led_back(3, None, 3), known) is None
    unmarked = [Finding("F-1", "I3", (*WAY[:-1], "rw-schema[metadata]"))]
    assert explained_by("I3", led_back(None, None, 3), unmarked) is None


def test_each_edge_that_leads_back_needs_a_finding() -> None:
    """In whatever order they lie on the cycle, and whichever finding passes over them."""
    both = replace(
        cycle(
            ("D(column-added)", "wr-schema"),
            ("T", "rw-schema[compatible]"),
            ("D(column-added)", "wr-schema"),
            ("T", "wr-row"),
            ("T", "rw-schema[metadata]"),
        ),
        back_ms=(None, 4, None, None, 3),
    )
    strict = Finding(
        "F-10", "I3", ("D(*)", "**", "D(*)", "wr-schema", "T", "rw-schema[compatible]!")
    )
    assert explained_by("I3", both, [Finding("F-1", "I3", WAY), strict]) == "F-1"
    assert explained_by("I3", both, [strict, Finding("F-1", "I3", WAY)]) == "F-10"
    assert explained_by("I3", both, [Finding("F-1", "I3", WAY)]) is None
    assert explained_by("I3", both, [strict]) is None


def test_any_way_is_at_least_one_edge_and_passes_over_what_another_finding_says_is_late() -> None:
    known = [Finding("F-8", "I3", ("D(*)", "**", "D(*)", "wr-schema", "T", "rw-schema[metadata]!"))]
    tail = (("D(object-created)", "wr-schema"), ("T", "rw-schema[metadata]"))
    for way in ([("D(a)", "rt")], [("D(a)", "wr-schema"), ("T", "rw-schema[110.x]")]):
        found = replace(cycle(*way, *tail), back_ms=(*(None for _ in way), None, 3))
        assert explained_by("I3", found, known) == "F-8"
    assert explained_by("I3", replace(cycle(*tail), back_ms=(None, 3)), known) is None
    late = [("D(a)", "wr-schema"), ("T", "rw-schema[110.x, late]")]
    found = replace(cycle(*late, *tail), back_ms=(None, None, None, 3))
    assert explained_by("I3", found, known) is None
    says_late = Finding("F-24", "I3", ("D(*)", "**", "T", "rw-schema[*, late]!", "D(*)", "**"))
    assert explained_by("I3", found, [says_late]) is None
    assert explained_by("I3", found, [says_late, *known]) == "F-24"


def test_a_finding_about_clocks_reaches_as_far_as_csmax() -> None:
    known = [Finding("F-5", "I3", ("D(*)", "**", "T", "via(*rt!*)", "T", "**"), within_skew=True)]
    way = (F1[0], ("T", "rt"), ("T", "wr-row"), ("T", "rw-schema[110.x]"))
    for back_ms, skew_ms, found in ((7, 7, "F-5"), (8, 7, None), (7, None, None)):
        anomaly = replace(cycle(*way), back_ms=(None, back_ms, None, None))
        assert explained_by("I3", anomaly, known, skew_ms) == found
    other = replace(cycle(*way), back_ms=(None, None, 7, None))
    assert explained_by("I3", other, known, 7) is None


READ_PAST = (("T", "wr-row"), ("T", "rw-predicate"), ("T", "rt"))


def test_a_read_in_the_past_is_f6_however_it_follows_what_began_later() -> None:
    """Real time alone leads back, and by CSmax at most; a row that it should have seen may not."""
    known = [one for one in findings.known() if one.id == "F-6"]
    ways = [[("T", "process")], [("T", "wr-row")], [("T", "wr-row"), ("T", "process")]]
    for way in ways:
        shown = cycle(*way, *READ_PAST[1:])
        nothing = [None] * (len(way) + 1)
        for back_ms, found in ((7, "F-6"), (8, None)):
            anomaly = replace(shown, back_ms=(*nothing, back_ms))
            assert explained_by("I3", anomaly, known, 7) == found
    for back_ms in ((None, 1, 7), (1, None, 7), (None, 1, None)):
        anomaly = replace(cycle(*READ_PAST), back_ms=back_ms)
        assert explained_by("I3", anomaly, known, 7) is None
    two = cycle(*READ_PAST, ("T", "rt"))
    for back_ms, found in (((7, 7), "F-6"), ((7, 8), None), ((8, 7), None)):
        anomaly = replace(two, back_ms=(None, None, *back_ms))
        assert explained_by("I3", anomaly, known, 7) == found
    past_ddl = replace(cycle(("D(column-added)", "wr-schema"), *READ_PAST[1:]), back_ms=nothing)
    assert explained_by("I3", past_ddl, known, 7) is None


def test_f25_explains_rows_of_operations_under_way_at_their_commit_alone() -> None:
    known = [one for one in findings.known() if one.id == "F-25"]
    for invariant in ("I3", "I10"):
        for tag, found in (("[under way at commit]", "F-25"), ("", None)):
            missed = cycle(("T", "wr-row"), ("T", f"rw-predicate{tag}"))
            anomaly = replace(missed, back_ms=(None, 200))
            assert explained_by(invariant, anomaly, known) == found
    read = replace(cycle(("T", "rw-row"), ("T", "wr-row")), back_ms=(None, 200))
    assert explained_by("I3", read, known) is None


def test_f25_explains_what_real_time_says_of_an_operation_under_way_and_of_no_other() -> None:
    known = [one for one in findings.known() if one.id == "F-25"]
    way, back = ("T", "wr-row"), ("T", "rt")
    for tag, found in (("[under way at commit]", "F-25"), ("", None)):
        late = ("T", f"ww-row{tag}")
        for ahead in ((late,), (way, late), (late, way), (way, late, way)):
            nothing = [None] * len(ahead)
            anomaly = replace(cycle(*ahead, back), back_ms=(*nothing, 7))
            assert explained_by("I3", anomaly, known) == found
            another = replace(cycle(*ahead, way, back), back_ms=(*nothing, 7, 7))
            assert explained_by("I3", another, known) is None
            change = (("T", "rw-schema[110.table.rename]"), ("D(object-renamed)", "wr-schema"))
            past_ddl = cycle(*ahead, back, *change)
            back_ms = (*(3 if one is late else None for one in ahead), 7, None, None)
            assert explained_by("I3", replace(past_ddl, back_ms=back_ms), known) == found


@pytest.mark.parametrize(
    ("number", "used", "late", "other", "back"),
    [
        ("F-3", "compatible", ", late, nothing found", ", late", None),
        ("F-13", "110.table.rename", ", late", ", late, judged in time", None),
        ("F-14", "compatible", ", late", ", late, judged in time", None),
        ("F-24", "compatible", ", late, judged in time", ", late", "F-24"),
    ],
)
def test_a_late_use_between_two_changes_is_explained_whichever_finding_closes_the_cycle(
    number: str, used: str, late: str, other: str, back: str | None
) -> None:
    """That it leads back itself is F-24's alone: its transaction went on to another table."""
    known = [one for one in findings.known() if one.id == number]
    closes = Finding("F-0", "I3", ("D(*)", "**", "T", "rw-schema[110.x]!"))
    first, last = ("D(column-added)", "wr-schema"), ("T", "rw-schema[110.x]")
    for use, back_ms, found in (
        (late, (None, None, None, 3), number),
        (other, (None, None, None, 3), None),
        (late, (None, 1, None, 3), back),
    ):
        way = (
            first,
            ("T", f"rw-schema[{used}{use}]"),
            ("D(column-dropped, index-dropped)", "wr-schema"),
            last,
        )
        anomaly = replace(cycle(*way), back_ms=back_ms)
        assert explained_by("I3", anomaly, known) is None
        assert explained_by("I3", anomaly, [*known, closes]) == found
    assert explained_by("I3", replace(anomaly, back_ms=()), [closes]) is None


def design(**rules: str) -> DesignHeader:
    return DesignHeader("iep", "", "", "ignite", (), rules=rules)


def test_a_finding_concerns_the_designs_that_have_the_hole() -> None:
    """By the rules in their fields: one of the conditions met, and not all that closes it."""
    finding = Finding(
        "F-2",
        "I3",
        (),
        ({"commit": ("open", "half"), "check": ("any",)}, {"stamp": ("open",)}),
        {"commit": "closed", "stamp": "closed"},
    )
    assert finding.concerns(design(commit="open", check="any", stamp="closed"))
    assert finding.concerns(design(commit="half", check="any", stamp="closed"))
    assert finding.concerns(design(commit="closed", check="any", stamp="open"))
    assert not finding.concerns(design(commit="open", check="none", stamp="closed"))
    assert not finding.concerns(design(commit="closed", check="any", stamp="closed"))
    assert not finding.concerns(design(commit="of.a.user", check="any", stamp="closed"))
    assert not finding.concerns(design())


@pytest.mark.parametrize(
    ("number", "change", "use"),
    [("F-13", "object-renamed", "110.table.rename"), ("F-14", "index-created", "metadata")],
)
def test_what_makes_no_table_version_is_passed_by_what_was_late_by_its_own_timestamp(
    number: str, change: str, use: str
) -> None:
    known = [one for one in findings.known() if one.id == number]
    for how, found in (
        ("late", number),
        ("late, nothing found", number),
        ("late, newer version read", None),
        ("late, judged in time", None),
        ("late, by a wrong look-up", None),
        ("late, in force again", None),
    ):
        way = (f"D({change})", "wr-schema"), ("T", "wr-row"), ("T", f"rw-schema[{use}, {how}]")
        back = replace(cycle(*way), back_ms=(None, None, 3))
        assert explained_by("I3", back, known) == found
        answered = ("T", "rt"), way[-1]
        ahead = replace(cycle(way[0], *answered), back_ms=(None, 3, None))
        assert explained_by("I3", ahead, known) == found
