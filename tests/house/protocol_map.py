"""The map from the clauses of PROTOCOL.md to code, tests, scenarios and mutants.

A clause is a line of PROTOCOL.md such as

    - `[98.past.3]` must: resolving at Top waits for safeTime >= Top - DD.
    - `[110.view]` left out: views are not treated as tables here.

A `must` clause needs a mutant that breaks it; one that is left out needs nothing, and nothing names
it; every other one needs code and a test.  What the words say is held against what there is: a
clause that has code, tests, scenarios or mutants is not left out, and its words do not say so.

Code and tests name a clause by its tag in a docstring or a comment (`[98.flow.1-4]` and `[98.x.1,
98.x.2]` name several), scenarios by `clauses`, mutants by `breaks` and `also`.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ddlsim.mutants.base import IGNITE, MUTANTS
from tests.house.tree import committed, python_files

BEGIN, END = "<!-- map:begin -->", "<!-- map:end -->"
ID = r"(?:98|110)\.[a-z][a-z0-9._]*[a-z0-9](?:-[0-9]+)?"
TAG = re.compile(rf"\[({ID}(?:,\s*{ID})*)\]")
LINE = re.compile(rf"^- ((?:`\[{ID}\]`[, ]*)+)(must:|left out:)?", re.MULTILINE)
ABSENT = re.compile(r"left out|not (?:yet )?model(?:l)?ed|not (?:yet )?(?:built|there)\b")
"""Words that say that something is not there."""
COLUMNS = ("code", "tests", "scenarios", "mutants")


@dataclass
class Clause:
    """One clause, and where it lives."""

    must: bool = False
    left_out: bool = False
    words: str = ""
    code: list[str] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    scenarios: list[str] = field(default_factory=list)
    mutants: list[str] = field(default_factory=list)


Cited = Iterator[tuple[str, str, str]]  # clause, column, place
Broken = Mapping[str, tuple[str, ...]]
"""The clauses that each mutant breaks."""


def ids(text: str) -> list[str]:
    """The clauses that a piece of text names by its tags; a range names each of its members."""
    return [one for tag in TAG.findall(text) for part in tag.split(",") for one in spread(part)]


def spread(name: str) -> list[str]:
    """`98.flow.1-3` as `98.flow.1`, `98.flow.2` and `98.flow.3`."""
    first, dash, last = name.strip().partition("-")
    if not dash:
        return [first]
    stem, _, start = first.rpartition(".")
    return [f"{stem}.{number}" for number in range(int(start), int(last) + 1)]


def clauses(root: Path, broken: Broken | None = None) -> dict[str, Clause]:
    """The clauses of PROTOCOL.md in its order, with everything that names them."""
    text = without_map((root / "PROTOCOL.md").read_text("utf-8"))
    found: dict[str, Clause] = {}
    for match in LINE.finditer(text):
        tags, kind = match.groups()
        words = re.split(r"\n(?:- |\n|#)", text[match.end() :], maxsplit=1)[0]
        for name in ids(tags):
            found[name] = Clause(kind == "must:", kind == "left out:", words)
    for name, column, place in citations(root, broken):
        places = getattr(found.get(name), column, [])
        if place not in places:
            places.append(place)
    return found


def citations(root: Path, broken: Broken | None = None) -> Cited:
    """Every mention of a clause in code, tests, scenarios and mutants."""
    for path in python_files(root, "sim"):
        if not path.is_relative_to(root / "sim" / "mutants"):
            place = path.relative_to(root / "sim").as_posix()
            yield from ((name, "code", place) for name in ids(path.read_text("utf-8")))
    for path in python_files(root, "tests"):
        if not path.is_relative_to(root / "tests" / "house"):
            place = path.relative_to(root / "tests").as_posix()
            yield from ((name, "tests", place) for name in ids(path.read_text("utf-8")))
    for path in committed(root):
        if path.suffix == ".toml" and path.is_relative_to(root / "scenarios"):
            place = path.relative_to(root / "scenarios").with_suffix("").as_posix()
            cited = tomllib.loads(path.read_text("utf-8")).get("clauses", [])
            yield from ((name, "scenarios", place) for each in cited for name in spread(each))
    for mutant, names in (registered() if broken is None else broken).items():
        yield from ((name, "mutants", mutant) for name in names)


def registered() -> Broken:
    """The mutants of the product that break a clause: those of the Ignite plane."""
    return {
        f"{name} ({one.caught_by})": (one.breaks, *one.also)
        for name, one in MUTANTS.items()
        if one.plane == IGNITE
    }


def faults(root: Path, broken: Broken | None = None) -> Iterator[str]:
    """Everything that keeps the map from being whole and true."""
    known = clauses(root, broken)
    if not known:
        yield "PROTOCOL.md lists no clause"
    for name, column, place in sorted(set(citations(root, broken))):
        if name not in known:
            yield f"[{name}] is no clause of PROTOCOL.md, but {column} name it: {place}"
    yield from _unsupported(known)
    text = (root / "PROTOCOL.md").read_text("utf-8")
    yield from _unbroken(text, known)
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        yield f"PROTOCOL.md needs one {BEGIN} and one {END}"
    elif text != with_map(root, broken):
        yield "the table in PROTOCOL.md is stale: python tests/house/test_protocol_map.py --write"


def _unsupported(known: dict[str, Clause]) -> Iterator[str]:
    """Clauses without what they need, and those whose words deny what there is."""
    for name, clause in known.items():
        for column in ("code", "tests"):
            if not clause.left_out and not getattr(clause, column):
                yield f"[{name}] has no {column}"
        said = clause.left_out or ABSENT.search(clause.words)
        named = [column for column in COLUMNS if getattr(clause, column)]
        if said and named:
            where = getattr(clause, named[0])[0]
            yield f"[{name}] is said not to be there, but has {', '.join(named)}: {where}"
        if clause.must and not clause.mutants:
            yield f"[{name}] is a must, but no mutant breaks it"


def _unbroken(text: str, known: dict[str, Clause]) -> Iterator[str]:
    """The paragraph that says which clauses no mutant breaks, against those that none breaks."""
    paragraph = re.search(r"No mutant breaks (.*?)\n\n", text, re.DOTALL)
    if paragraph is None:
        return
    told = dict.fromkeys(re.findall(rf"`({ID})`", paragraph.group(1)))
    told = dict.fromkeys(name for each in told for name in spread(each))
    for name, clause in known.items():
        if clause.mutants and name in told:
            yield f"[{name}] is said to have no mutant, but has {clause.mutants[0]}"
        if not clause.mutants and name not in told and not clause.left_out:
            yield f"[{name}] has no mutant, and PROTOCOL.md does not say so"


def without_map(text: str) -> str:
    return re.sub(f"{BEGIN}.*{END}", "", text, flags=re.DOTALL)


def with_map(root: Path, broken: Broken | None = None) -> str:
    """PROTOCOL.md with its table as it ought to be."""
    before, _, rest = (root / "PROTOCOL.md").read_text("utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{table(clauses(root, broken))}{END}{rest.partition(END)[2]}"


def table(known: dict[str, Clause]) -> str:
    lines = [f"| clause | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, clause in known.items():
        cells = [", ".join(sorted(getattr(clause, column))) or "-" for column in COLUMNS]
        mark = " (must)" if clause.must else " (left out)" if clause.left_out else ""
        lines.append(f"| `{name}`{mark} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def write(root: Path, broken: Broken | None = None) -> bool:
    """Renew the table; tells whether anything changed."""
    path = root / "PROTOCOL.md"
    old, new = path.read_text("utf-8"), with_map(root, broken)
    if BEGIN not in old or END not in old:
        raise SystemExit(f"PROTOCOL.md has no {BEGIN} and {END} to write between")
    if new != old:
        path.write_text(new, "utf-8")
    return new != old
