"""The power of the search is the share of a sample of mutants that it kills."""

import io

from msgspec import structs
from rich.console import Console

from ddlsim.cli.documents.verify import power_of_search
from ddlsim.cli.views import verify as view_verify
from ddlsim.mutation.power import digest_of, power, power_of
from ddlsim.mutation.records import Conviction, Result
from ddlsim.verify.verification import verification

KILLED = Conviction("iep", 3, "violation", "I3 serializability", "")
RESULTS = [
    Result("raft:a", "raft", "guard", "a.py:1: one", "killed", KILLED, 4, 4, 1.0),
    Result("raft:b", "raft", "guard", "b.py:2: two", "survived", None, 9, 3, 2.0),
    Result("locks:c", "locks", "guard", "c.py:3: three", "unimportable", error="NameError"),
    Result("locks:d", "locks", "guard", "d.py:4: four", "survived", None, 9, 3, 2.0),
]


def test_power_counts_mutants_that_can_be_imported() -> None:
    found = power_of(RESULTS, 9)
    assert (found.mutants, found.killed, found.seeds) == (3, 1, 9)
    assert found.areas == {"raft": (2, 1), "locks": (1, 0)}
    assert found.survivors == ("b.py:2: two", "d.py:4: four")


def test_the_document_of_verify_has_the_power_by_area() -> None:
    assert power_of_search(power_of(RESULTS, 9)) == {
        "mutants": 3,
        "killed": 1,
        "seeds": 9,
        "surveyed": 50,
        "sample": digest_of(RESULTS),
        "areas": {"raft": {"mutants": 2, "killed": 1}, "locks": {"mutants": 1, "killed": 0}},
        "survivors": ["b.py:2: two", "d.py:4: four"],
    }


def test_the_view_of_verify_names_the_areas_with_survivors() -> None:
    to = Console(file=io.StringIO(), width=200)
    result = verification([], [], range(1), every_mutant=False)
    view_verify.show(result, to, power_of(RESULTS, 9))
    text = to.file.getvalue()  # type: ignore[attr-defined]  # a StringIO
    assert "power of the search 33%: 1 of 3 faults in the protocol's source (sample " in text
    assert "convicted within 9 worlds each, chosen from 50 seeds" in text
    assert "not convicted: raft 1, locks 1" in text


def test_a_sample_is_known_by_its_mutants_and_not_by_their_lines() -> None:
    moved = [structs.replace(RESULTS[0], sentence="a.py:7: one"), *RESULTS[:0:-1]]
    assert digest_of(moved) == digest_of(RESULTS)
    changed = [structs.replace(RESULTS[0], sentence="a.py:1: other"), *RESULTS[1:]]
    assert digest_of(changed) != digest_of(RESULTS) != digest_of(RESULTS[1:])


def test_power_is_measured_in_a_process_of_its_own() -> None:
    found = power(1, mutants=1, seeds=1, surveyed=0)
    assert (found.mutants, found.seeds, len(found.survivors)) == (1, 1, 1 - found.killed)
    assert [mutants for mutants, _ in found.areas.values()] == [1]
