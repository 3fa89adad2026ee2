"""The same seed gives the same storm: again, in another process, under another hash seed."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.determinism.storm import LABELS, NAMES, Storm

ROOT = Path(__file__).parents[2]


def first_difference(one: list[str], other: list[str]) -> str:
    """The first differing line of each with the ten before it; empty if there is none."""
    if one == other:
        return ""
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    at = min(len(one), len(other)) if at is None else at
    return "\n".join(
        [*one[max(0, at - 10) : at], f"one:   {one[at:][:1]}", f"other: {other[at:][:1]}"]
    )


def storm_elsewhere(seed: int, hash_seed: str) -> list[str]:
    """The lines of a storm in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.determinism.storm", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")


@pytest.fixture(scope="module")
def storm() -> Storm:
    return Storm(1)


def test_the_storm_has_every_kind_of_line(storm: Storm) -> None:
    """Otherwise the other tests here compare silence with silence."""
    whats = Counter(line.split()[1] for line in storm.lines)
    assert {"send", "deliver", "lose", "copy", "drop", "hold", "vanish", *NAMES} == set(whats)
    assert any("NO_REPLY" in line for line in storm.lines)
    assert whats["deliver"] > 500


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_twice_in_one_process(seed: int) -> None:
    one, other = Storm(seed), Storm(seed)
    assert not first_difference(one.lines, other.lines)
    assert one.digest == other.digest


@pytest.mark.parametrize("hash_seed", ["0", "random"])
def test_in_another_process_under_another_hash_seed(storm: Storm, hash_seed: str) -> None:
    assert not first_difference([*storm.lines, storm.digest], storm_elsewhere(1, hash_seed))


def test_another_seed_is_another_storm(storm: Storm) -> None:
    assert Storm(2).digest != storm.digest


def test_one_message_less_leaves_all_other_channels_as_they_were(storm: Storm) -> None:
    """Through loss, faults and rules; gossip asks for no answer, so nothing can follow from it."""
    sent = [line.split() for line in storm.lines if " send " in line and " gossip " in line]
    labelled = [words for words in sent if int(words[-1]) >= LABELS]
    for *_, sender, to, kind, label in labelled[::20]:
        fewer = Storm(1, without=int(label) - LABELS)
        one, other = (
            [line for line in lines if f" {sender} {to} {kind} " not in line]
            for lines in (storm.lines, fewer.lines)
        )
        assert len(fewer.lines) < len(storm.lines)
        assert not first_difference(one, other)


def test_the_first_difference_is_shown_with_what_came_before() -> None:
    one = [str(number) for number in range(30)]
    assert first_difference(one, one) == ""
    shown = first_difference(one, [*one[:20], "x", *one[21:]]).split("\n")
    assert shown == [*one[10:20], "one:   ['20']", "other: ['x']"]
    assert first_difference(one, one[:-1]).endswith("one:   ['29']\nother: []")
