"""Runs the experiments and writes every figure: `python -m tests.agreement OUT.json [SEEDS]`."""

import json
import sys
from dataclasses import asdict

from ddlsim.files import write_text
from tests.agreement import aborts, aliases, freeze, own_ddl, store, store_costs, waits
from tests.agreement.base import Line

SEEDS = 24


def lines(seeds: range, *, quick: bool = False, jobs: int | None = None) -> list[Line]:
    """All experiments, B13 of the catalogue, and those of a key-value store."""
    every = (waits, aborts, own_ddl, freeze, aliases, store, store_costs)
    return [line for one in every for line in one.lines(seeds, quick=quick, jobs=jobs)]


def main(words: list[str]) -> int:
    """Write the figures; 0 if all agree, 1 if some do not, 2 without a file to write."""
    if not words:
        sys.stderr.write("python -m tests.agreement OUT.json [SEEDS]: OUT.json is missing\n")
        return 2
    seeds = range(int(words[1]) if len(words) > 1 else SEEDS)
    found = lines(seeds)
    document = [{**asdict(line), "agrees": line.agrees} for line in found]
    write_text(words[0], json.dumps(document, indent=1) + "\n")
    off = [line for line in found if not line.agrees]
    sys.stdout.write(f"{len(found) - len(off)} of {len(found)} figures agree\n")
    for line in off:
        sys.stdout.write(
            f"experiment {line.experiment} {line.cell} {line.figure}: {line.simulated:.4g} "
            f"[{line.low:.4g}, {line.high:.4g}], by formula "
            f"[{line.formula.unordered:.4g}, {line.formula.ordered:.4g}]\n"
        )
    return int(bool(off))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
