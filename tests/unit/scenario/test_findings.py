"""The known findings: read from their files, and said clearly where a file is wrong."""

from pathlib import Path

import pytest

from ddlsim.scenario import findings
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read

TEXT = """\
title = "A finding"
expect = { finding = "F-7" }

[finding]
id = "F-7"
title = "it commits although it saw"
breaks = "I3"
signature = ["D(*)", "rt", "T", "rw-schema"]
clauses = ["110.lin"]
closing = { check_commit = "exact_match" }

[protocol]
preset = "ignite3_tests"
"""


def test_every_shipped_finding_is_known_and_shows_itself() -> None:
    numbers = [table.id for table in findings.described()]
    assert numbers == sorted(numbers, key=lambda number: int(number[2:]))
    assert len(set(numbers)) == len(numbers)
    assert dict.fromkeys(finding.id for finding in findings.known()) == dict.fromkeys(numbers)
    assert all(findings.title(number) for number in numbers)
    assert findings.title("F-0") == ""


def test_findings_come_in_the_order_of_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {}
    for number in ("F-10", "F-9", "F-2"):
        files[f"findings/{number}"] = tmp_path / f"{number}.toml"
        files[f"findings/{number}"].write_text(TEXT.replace("F-7", number), "utf-8")
    monkeypatch.setattr(findings, "shipped", lambda: {"smoke": tmp_path, **files})
    monkeypatch.setattr(findings, "described", findings.described.__wrapped__)
    assert [finding.id for finding in findings.known()] == ["F-2", "F-9", "F-10"]
    assert findings.title("F-9") == "it commits although it saw"


def test_a_finding_may_show_in_several_anomalies() -> None:
    """F-7 is a cycle, and a statement that rests on less than was acknowledged."""
    shown = [finding for finding in findings.known() if finding.id == "F-7"]
    assert {finding.invariant for finding in shown} == {"I3", "I4"}
    assert len({finding.signature for finding in shown}) == len(shown) == 2


def test_two_findings_of_one_number_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "F-7.toml"
    path.write_text(TEXT, "utf-8")
    monkeypatch.setattr(findings, "shipped", lambda: {"findings/a": path, "findings/b": path})
    with pytest.raises(ScenarioError, match="two findings are called F-7"):
        findings.described.__wrapped__()


def test_a_file_is_a_scenario_with_one_table_more(tmp_path: Path) -> None:
    path = tmp_path / "F-7.toml"
    path.write_text(TEXT, "utf-8")
    table = findings.read(path, "findings/F-7")
    assert (table.id, table.breaks, table.clauses) == ("F-7", "I3", ("110.lin",))
    assert table.signature == ("D(*)", "rt", "T", "rw-schema")
    assert table.closing == {"check_commit": "exact_match"}
    assert read(TEXT, "findings/F-7").table.finding == table


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "closing =",
            "closng =",
            "findings/F-7.toml:10: finding.closng: unknown key; did you mean",
        ),
        ('breaks = "I3"\n', "", "findings/F-7.toml:4: finding: breaks is missing"),
        ('["D(*)", "rt", "T", "rw-schema"]', "[]", "finding.signature: must not be empty"),
        ("[finding]", "[findings]", "findings/F-7.toml:1: [finding] is missing"),
        ("[finding]", "[finding", "findings/F-7.toml: not TOML"),
    ],
)
def test_read_names_what_is_wrong_with_a_finding(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "F-7.toml"
    path.write_text(TEXT.replace(old, new, 1), "utf-8")
    with pytest.raises(ScenarioError) as wrong:
        findings.read(path, "findings/F-7")
    assert told in str(wrong.value)


def test_a_finding_must_expect_itself() -> None:
    with pytest.raises(ScenarioError, match=r'describes F-7; say expect = \{ finding = "F-7" \}'):
        read(TEXT.replace('expect = { finding = "F-7" }', ""), "findings/F-7")
