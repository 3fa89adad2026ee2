"""Ids of mutants are stable, areas complete, samples even; every equivalent one exists."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from ddlsim.mutation import store
from ddlsim.mutation.areas import AREAS, BASELINES, FILES, area_of, designs_for, is_out
from ddlsim.mutation.mutants import Mutant, mutants, mutants_of, sample
from ddlsim.mutation.operators.table import OPERATORS
from ddlsim.mutation.source import ROOT, Module
from ddlsim.mutation.store import equivalent, listed

WITHOUT_MUTANTS = {
    "commands.py", "ids.py", "messages.py", "meta_commands.py", "replica_messages.py",
    "state_machine.py", "strategy.py",
}  # fmt: skip
"""Files of records, protocols of types and names; other files without code are packages' own."""

BEFORE = """\
class Locks:
    def free(self, tx):
        if tx in self.held and tx not in self.old:
            del self.held[tx]

    def wait(self, tx):
        return self.ts < tx.ts
"""
AFTER = '''\
"""More text."""

def other(a, b):
    return a < b

class Locks:
    """More text."""

    def wait(self, tx):
        return self.ts < tx.ts

    def free(self, tx):
        if tx in self.held and tx not in self.old:
            del self.held[tx]  # a remark
'''


def of(source: str) -> dict[str, Mutant]:
    file = "protocol/transaction/locks.py"
    return {one.id: one for one in mutants_of(Module(file, source))}


def test_ids_are_stable_against_edits_elsewhere() -> None:
    before, after = of(BEFORE), of(AFTER)
    assert len(before) == 8
    assert set(before) < set(after)
    for name, one in before.items():
        assert after[name].sentence.partition(" ")[2] == one.sentence.partition(" ")[2]


def test_an_id_names_area_file_function_operator_and_number() -> None:
    assert "locks:protocol/transaction/locks.py:Locks.free:half:2" in of(BEFORE)
    assert all(name.partition(":")[0] == one.area for name, one in mutants().items())


def test_every_mutant_of_a_sample_differs_from_the_source_and_compiles() -> None:
    for one in sample(mutants().values(), 200):
        file = one.place.partition(":")[0]
        assert one.source != (ROOT / file).read_text("utf-8"), one.id
        compile(one.source, file, "exec")


def places() -> Iterator[str]:
    for path in sorted(path for pattern in FILES for path in ROOT.glob(pattern)):
        module = Module.read(path.relative_to(ROOT).as_posix())
        yield from (f"{module.file}:{function.name}" for function in module.functions())


def test_every_function_of_the_protocol_has_an_area_or_is_left_out() -> None:
    homeless = [
        place
        for place in places()
        if area_of(place) is None
        and not is_out(place)
        and place.partition(":")[0].rpartition("/")[2] not in WITHOUT_MUTANTS
    ]
    assert homeless == []


def test_every_area_and_operator_has_mutants() -> None:
    known = mutants().values()
    assert {one.area for one in known} == set(AREAS)
    assert {one.operator for one in known} == set(OPERATORS)


def test_a_sample_is_even_over_areas_and_begins_with_the_smaller_one() -> None:
    known = list(mutants().values())
    small, large = sample(known, 6 * len(AREAS)), sample(known, 18 * len(AREAS))
    assert [one.id for one in large[: len(small)]] == [one.id for one in small]
    assert len({one.id for one in large}) == 18 * len(AREAS)
    assert set(Counter(one.area for one in large).values()) == {18}
    assert sample(reversed(known), len(small)) == small


def test_a_sample_has_many_operators_of_each_area() -> None:
    chosen = sample(mutants().values(), 15 * len(AREAS))
    for area in AREAS:
        assert len({one.operator for one in chosen if one.area == area}) >= 10


def test_the_list_of_equivalent_mutants_names_mutants_that_exist_with_a_reason() -> None:
    """By ids that mean what they meant: else the list says which mutants have the digits now."""
    known = mutants()
    now: dict[tuple[str, str], list[str]] = {}
    for one in known.values():
        now.setdefault((one.place, one.digest), []).append(one.id)
    stale = {
        name: now.get((":".join(name.split(":")[1:3]), digest), "none has this line any more")
        for name, digest in listed()
        if name not in known or known[name].digest != digest
    }
    assert stale == {}, "ids in equivalent.toml that are other mutants now"
    assert len(equivalent()) == len(listed())
    assert all(len(reason) > 20 for reason in listed().values())


def test_the_digits_of_a_mutant_are_those_of_its_line_and_change() -> None:
    """They stay where its number changes; an edit of its line changes them."""
    before = of(BEFORE)["locks:protocol/transaction/locks.py:Locks.wait:comparison:1"]
    line = "        return self.ts < tx.ts\n"
    name = "locks:protocol/transaction/locks.py:Locks.wait:comparison"
    after = of(BEFORE.replace(line, f"        if self.old < tx:\n            return None\n{line}"))
    assert after[f"{name}:1"].digest != before.digest
    assert after[f"{name}:2"].digest == before.digest
    edited = of(BEFORE.replace(line, "        return bool(self.ts < tx.ts)\n"))
    assert edited[f"{name}:1"].digest != before.digest


def test_an_id_that_means_another_mutant_is_not_equivalent(monkeypatch: Any) -> None:
    name = next(iter(equivalent()))
    monkeypatch.setattr(store, "listed", lambda: {(name, "00000000"): "for another line"})
    assert equivalent() == {}


RULE = "protocol/design/closing.py:schema_at_commit_ts_at_one_instant"


@pytest.mark.parametrize(
    ("place", "used", "designs"),
    [
        ("protocol/raft/log.py:RaftLog.sync", {}, BASELINES),
        (RULE, {"iep_closed": RULE}, ("iep_closed",)),
        (f"{RULE}.inner", {"iep_closed": RULE, "iep": RULE}, ("iep_closed", "iep")),
        (RULE, {"ignite3": RULE}, ("ignite3",)),
        (RULE, {}, ()),
        ("protocol/schema/by_name.py:difference", {}, ("ignite3",)),
    ],
)
def test_a_mutant_is_tried_under_the_baselines_that_have_its_function(
    place: str, used: dict[str, str], designs: tuple[str, ...]
) -> None:
    rules = {name: frozenset([used[name]] if name in used else []) for name in BASELINES}
    assert designs_for(place, rules) == designs
