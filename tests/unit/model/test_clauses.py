"""The list of clauses: whole, in order, and what the code's own rules cite."""

import re
from pathlib import Path

from ddlsim.model.clauses import CLAUSES, PAUSE_POINTS

ROOT = Path(__file__).resolve().parents[3]
ID = re.compile(r"(98|110)\.[a-z]+(\.[a-z0-9]+)*")


def test_every_clause_has_an_id_and_a_sentence_of_its_own() -> None:
    assert all(ID.fullmatch(clause.id) for clause in CLAUSES)
    assert len({clause.id for clause in CLAUSES}) == len(CLAUSES)
    assert len({clause.sentence for clause in CLAUSES}) == len(CLAUSES)
    assert all(clause.sentence and not clause.sentence.endswith(".") for clause in CLAUSES)


def test_clause_document_follows_from_its_id() -> None:
    sources = {clause.id: clause.source for clause in CLAUSES}
    assert sources["98.past.3"] == "IEP-98"
    assert sources["110.valid.1"] == "IEP-110"
    assert sources["98.x.1"] == "ours, beside IEP-98"
    assert sources["110.ours.index.create"] == "ours, beside IEP-110"


def test_the_rules_cite_clauses_that_exist() -> None:
    text = (ROOT / "sim/protocol/schema/compatibility.py").read_text("utf-8")
    cited = re.findall(r'"((?:98|110)\.[a-z0-9.]+)"', text)
    assert cited
    assert set(cited) <= {clause.id for clause in CLAUSES}


def test_the_pause_points_are_those_of_the_protocol() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "sim/protocol").rglob("*.py"))
    called = {name for text in sources for name in re.findall(r'pause_at\(\s*"([a-z-]+)"', text)}
    assert called == {point.name for point in PAUSE_POINTS}
