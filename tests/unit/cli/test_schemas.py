"""The JSON Schemas: every shipped file and every document fits, what is wrong does not.

python -m tests.unit.cli.test_schemas --write     renews the published files; review the difference
"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ddlsim.cli.arguments import LISTS
from ddlsim.cli.documents import documents, schemas
from ddlsim.scenario.shipped import shipped
from tests.golden.bad_scenarios import Case, cases
from tests.support.command import ROOT, ddlsim, tiny
from tests.support.forked import forked
from tests.support.json_schemas import validator, wrong

PUBLISHED = ROOT / "sim" / "schemas"
REALISTIC = "scenarios/realistic"
ONLY_THE_PROGRAM = Path(__file__).with_name("only_the_program.txt")
"""Bad scenarios whose shape is right: what is wrong is a name, an order, a sum, SQL, a file."""
SHIPPED = shipped()
Json = dict[str, Any]


# --- files that are read -------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_scenario_fits_its_schema(name: str) -> None:
    assert wrong("scenario", tomllib.loads(SHIPPED[name].read_text("utf-8"))) == []


def sweeps() -> list[str]:
    files = (ROOT / "reports").rglob("*.toml")
    found = ((path, tomllib.loads(path.read_text("utf-8"))) for path in files)
    return [str(path.relative_to(ROOT)) for path, table in found if "parameters" in table]


@pytest.mark.parametrize("file", sweeps())
def test_a_shipped_sweep_fits_its_schema(file: str) -> None:
    assert wrong("sweep-file", tomllib.loads((ROOT / file).read_text("utf-8"))) == []


def test_there_are_sweeps() -> None:
    assert len(sweeps()) > 3


def test_the_scenario_that_new_writes_fits() -> None:
    text = (ROOT / "sim/cli/skeletons/scenario.toml").read_text("utf-8")
    assert wrong("scenario", tomllib.loads(text)) == []


def accepted() -> Iterator[Case]:
    for case in cases():
        try:
            table = tomllib.loads(case.text)
        except ValueError:
            continue
        if validator("scenario").is_valid(table):
            yield case


def test_a_bad_scenario_is_refused_by_the_schema_or_named_as_one_for_the_program() -> None:
    assert [case.name for case in accepted()] == ONLY_THE_PROGRAM.read_text("utf-8").split()


PLANTS: dict[str, Callable[[Json], Any]] = {
    "a key at the top": lambda t: t.update(titel="x"),
    "a key of a table": lambda t: t["cluster"].update(node=3),
    "a key of a workload": lambda t: t["workload"][0].update(cliens=4),
    "a key of a fault": lambda t: t["faults"][0].update(until_ms=4),
    "a unit": lambda t: t["run"].update(load_s=4),
    "a bound": lambda t: t["network"].update(loss=2),
    "a type": lambda t: t["migration"][0].update(at_ms="soon"),
    "a name": lambda t: t["strategy"].update(name="ipe"),
    "a rule": lambda t: t["strategy"].update(completeness_ts="sometimes"),
    "a probe": lambda t: t.update(reaches=["nowhere"]),
    "a distribution": lambda t: t["network"].update(latency_ms={"distribution": "normal"}),
    "no protocol": lambda t: t.pop("protocol"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_mistake_in_a_scenario_is_refused(plant: str) -> None:
    table = tomllib.loads(SHIPPED["smoke"].read_text("utf-8"))
    assert wrong("scenario", table) == []
    PLANTS[plant](table)
    assert wrong("scenario", table)


def test_a_planted_mistake_in_a_sweep_is_refused() -> None:
    table = tomllib.loads((ROOT / sweeps()[0]).read_text("utf-8"))
    for key, value in {"seeds": "1-9", "scenarios": [], "sead": 1, "mutants": ["x"]}.items():
        assert wrong("sweep-file", {**table, key: value}), key


# --- documents that are printed ------------------------------------------------------------------


def printed(*words: str) -> Any:
    done = ddlsim(*words, "--output", "json")
    assert done.out, done.err
    return json.loads(done.out)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good and a bad history, and a good one as a folder of three seeds."""
    folder = tmp_path_factory.mktemp("documents")
    printed("run", tiny(folder), "--out", f"{folder}/good")
    printed("run", "strategies/B3-T1", "--out", f"{folder}/bad")
    return folder


DOCUMENTS = {
    "run": ("run", "run {}/tiny.toml"),
    "run seeds": ("run", "run {}/tiny.toml --seeds 0..1"),
    "run violated": ("run", "run strategies/B3-T1"),
    "run swarm": ("run", "run --swarm --seed 1"),
    "check native": ("check", "check {}/good {}/bad"),
    "check jepsen": ("check", "check tests/golden/foreign/list-append/G-single.edn"),
    "check witness": ("check", "check scenarios/witness/atomicity.jsonl"),
    "check clean": ("check", "check scenarios/witness/clean.jsonl"),
    "explain": ("explain", "explain {}/bad/seed-0.jsonl --svg {}/cycle.svg"),
    "explain good": ("explain", "explain {}/good/seed-0.jsonl"),
    "explain jepsen": ("explain", "explain tests/golden/foreign/list-append/G-single.edn"),
    "explain witness": ("explain", "explain scenarios/witness/own_ddl.jsonl"),
    "compat": ("compat", f"compat {REALISTIC}/schema.sql {REALISTIC}/orders.sql"),
    "compat rates": (
        "compat",
        f"compat {REALISTIC}/schema.sql {REALISTIC}/orders.sql --ddl-rate 0.1 --tx-length 2",
    ),
    "compat refused": ("compat", "compat --from-scratch {}/refused.sql"),
    "verify": ("verify", "verify {}/tiny.toml negative/no_commit_check --seeds 2 --jobs 1"),
    **{f"list {what}": ("list", f"list {what}") for what in LISTS},
}


@pytest.mark.parametrize("case", DOCUMENTS)
def test_a_document_fits_its_schema(case: str, folder: Path) -> None:
    (folder / "refused.sql").write_text(
        "CREATE TABLE t (id INT PRIMARY KEY);\nALTER TABLE t DROP COLUMN id;\n"
        "ALTER TABLE t ADD COLUMN v INT NOT NULL; -- ddlsim: ignore 110.column.add later\n"
        "INSERT INTO t VALUES (1)",
        "utf-8",
    )
    name, words = DOCUMENTS[case]
    document = printed(*words.replace("{}", str(folder)).split())
    assert wrong(name, document) == []
    if isinstance(document, dict):
        assert wrong(name, {**document, "planted": 1})
        assert wrong(name, {**document, "format": "one"})


@pytest.mark.parametrize("what", LISTS)
def test_a_planted_mistake_in_a_list_is_refused(what: str) -> None:
    first, *others = printed("list", what)[:3]
    assert wrong("list", [first, *others]) == []
    for key in first:
        assert wrong("list", [{k: v for k, v in first.items() if k != key}, *others]), key
        assert wrong("list", [{**first, key: [1]}, *others]), key
    assert wrong("list", [{**first, "planted": 1}, *others])
    assert wrong("list", {"entries": [first, *others]})


def test_a_list_of_several_shapes_is_refused() -> None:
    reasons, faults = printed("list", "reasons"), printed("list", "faults")
    assert wrong("list", [*reasons, *faults])


def test_summary_json_is_a_run(folder: Path) -> None:
    assert wrong("run", json.loads((folder / "good/summary.json").read_text("utf-8"))) == []


def test_a_planted_mistake_deep_in_a_document_is_refused() -> None:
    document = printed("run", "strategies/B3-T1")
    assert wrong("run", document) == []
    for place, key, value in (
        (document["runs"][0], "outcome", "bad"),
        (document["runs"][0]["violations"][0], "class", "worst"),
        (document["runs"][0]["violations"][0]["steps"][0], "why", "x"),
        (document["runs"][0]["violations"][0]["witness"][0], "event", "Nothing"),
        (document["runs"][0]["figures"], "committed", "many"),
        (document["runs"][0]["figures"]["dml_latency_ms"], "p50", [1]),
    ):
        before = dict(place)
        place[key] = value
        assert wrong("run", document), key
        place.clear()
        place.update(before)


# --- published -----------------------------------------------------------------------------------


def published(name: str) -> str:
    return documents.text(schemas.schema(name)) + "\n"


@pytest.fixture(scope="module")
def generated() -> Json:
    """Every schema, made by a process that has loaded no plug-in."""
    make = "import json; from ddlsim.cli.documents.schemas import SCHEMAS, schema; "
    make += "print(json.dumps({name: schema(name) for name in SCHEMAS}))"
    done = subprocess.run([sys.executable, "-c", make], cwd=ROOT, capture_output=True, check=True)
    found: Json = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_a_published_schema_is_the_generated_one(name: str, generated: Json) -> None:
    file = PUBLISHED / f"{name}.schema.json"
    assert json.loads(file.read_text("utf-8")) == generated[name]
    assert list(json.loads(ddlsim("list", "schemas", name).out)) == list(generated[name])


def test_nothing_else_is_published() -> None:
    names = {f"{name}.schema.json" for name in schemas.SCHEMAS}
    assert {path.name for path in PUBLISHED.iterdir()} == names


def test_a_schema_knows_plugins_that_were_loaded(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    skeleton = (ROOT / "sim/cli/skeletons/fault.py").read_text("utf-8")
    file.write_text(skeleton, "utf-8")
    done = forked("list", "schemas", "scenario", "--load", str(file))
    table = tomllib.loads(SHIPPED["smoke"].read_text("utf-8"))
    table["faults"] = [{"name": "my_fault", "node": "n3", "from_ms": 9}]
    assert Draft202012Validator(json.loads(done.out)).is_valid(table)
    assert wrong("scenario", table)


def test_one_entry_of_a_list_is_listed_alone() -> None:
    assert [entry["name"] for entry in printed("list", "strategies", "iep")] == ["iep"]
    assert ddlsim("list", "reasons", "LOCK_CONFLICT").out.startswith("LOCK_CONFLICT  ")
    done = ddlsim("list", "schemas", "rum")
    assert (done.code, done.out) == (2, "")
    assert done.err == "ddlsim: list: schemas has no 'rum'; did you mean run?\n"
    done = ddlsim("list", "scenarios", "qqqq")
    assert done.err == "ddlsim: list: scenarios has no 'qqqq'; see ddlsim list scenarios\n"


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    PUBLISHED.mkdir(exist_ok=True)
    for each in schemas.SCHEMAS:
        (PUBLISHED / f"{each}.schema.json").write_text(published(each), "utf-8")
    ONLY_THE_PROGRAM.write_text("".join(f"{case.name}\n" for case in accepted()), "utf-8")
