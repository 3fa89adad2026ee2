"""Random worlds under random faults: a fingerprint and a life story for each seed."""

import sys
from collections import Counter

from ddlsim.cluster.run import run
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan

WHOLE = swarm.source_of(None, {})
"""A swarm around nothing."""


def fingerprints(seeds: range) -> tuple[list[str], Counter[str]]:
    """Of the run of each seed, and all probes that they met."""
    found, probes = [], Counter[str]()
    for seed in seeds:
        history = run(plan(swarm.scenario(WHOLE, seed), seed))
        found.append(history.fingerprint())
        probes.update(history.probes)
    return found, probes


if __name__ == "__main__":
    made, _ = fingerprints(range(int(sys.argv[1]), int(sys.argv[2])))
    sys.stdout.write("\n".join(made))
