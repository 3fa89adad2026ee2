"""A swarm run is a function of its seed: elsewhere, under another hash seed, with crashes."""

import os
import subprocess
import sys
from pathlib import Path

from tests.determinism.swarming import fingerprints

ROOT = Path(__file__).parents[2]
SEEDS = range(9, 17)


def test_swarms_are_the_same_in_another_process_under_another_hash_seed() -> None:
    """Elections, failovers, crashes and snapshots among them."""
    here, probes = fingerprints(SEEDS)
    for probe in ("election", "failover", "crash", "abort-schema-changed"):
        assert probes[probe], f"no seed reached {probe}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.determinism.swarming", str(SEEDS.start), str(SEEDS.stop)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n") == here
