"""A swarm run is a function of its seed: elsewhere, under another hash seed, with crashes."""

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.determinism.swarming import fingerprints

ROOT = Path(__file__).parents[2]
SEEDS = range(9, 17)


@cache
def found_here() -> tuple[list[str], Counter[str]]:
    return fingerprints(SEEDS)


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_swarms_are_the_same_in_another_process(hash_seed: str) -> None:
    """Elections, failovers, crashes and snapshots among them."""
    here, probes = found_here()
    for probe in ("election", "failover", "crash", "abort-schema-changed"):
        assert probes[probe], f"no seed reached {probe}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.determinism.swarming", str(SEEDS.start), str(SEEDS.stop)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n") == here
