"""Fuzzes every input format and tells how the inputs ended; 1 if any ended as none may.

usage: python -m tests.fuzz [--inputs N] [--seed S] [--only FORMAT]... [--keep DIR]

Batches of inputs run in a child each: what kills it, or takes its memory, is an outcome too. An
input is repeated by its format, seed and number (`--only F --seed S --at NUMBER`).
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

from ddlsim.execute.isolation import Handlers, Limits, Loss, isolated
from tests.fuzz.formats import Format, formats
from tests.fuzz.trial import Ended, content, given, trial

BATCH: Final = 250
SHOWN: Final = 40


def batch(of: Format, seed: int, numbers: range) -> list[Ended]:
    """How each of these inputs ended; a child that dies leaves the rest to another one."""

    def lost(_number: int, _loss: Loss, how: str) -> Ended:
        return Ended("died", how)

    handlers = Handlers(
        lambda number: trial(of, seed, number), lost, lambda ended: ended.complaint or ""
    )
    return isolated(numbers, Limits(), handlers)


def main(words: list[str]) -> int:
    """Run, tell, and say whether all is well."""
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz")
    asked.add_argument("--inputs", type=int, default=2_000)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--only", action="append", default=[])
    asked.add_argument("--at", type=int)
    asked.add_argument("--keep", type=Path)
    options = asked.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="ddlsim-fuzz-") as folder:
        known = formats(Path(folder))
    chosen = [known[name] for name in options.only or known]
    if options.at is not None:
        return _one(chosen[0], options.seed, options.at)
    wrong: list[str] = []
    each = -(-options.inputs // len(chosen))
    for of in chosen:
        ends: Counter[str] = Counter()
        given(of, of.seeds[0], of.seeds[0])  # imports once what every child needs
        for low in range(0, each, BATCH):
            numbers = range(low, min(low + BATCH, each))
            for number, ended in zip(numbers, batch(of, options.seed, numbers), strict=True):
                ends[ended.outcome] += 1
                if ended.complaint is not None:
                    said = " ".join(ended.complaint.split())
                    wrong.append(f"{of.name} {options.seed} {number}: {said}")
                    _keep(options.keep, of, options.seed, number)
        told = ", ".join(f"{name} {count}" for name, count in ends.most_common())
        sys.stdout.write(f"{of.name:18} {sum(ends.values()):7}  {told}\n")
        sys.stdout.flush()
    for line in wrong[:SHOWN]:
        sys.stdout.write(f"{line[:600]}\n")
    sys.stdout.write(f"{len(wrong)} ended as none may\n")
    return 1 if wrong else 0


def _one(of: Format, seed: int, number: int) -> int:
    whole, data = content(of, seed, number)
    sys.stdout.write(f"{len(whole)} bytes, damaged {len(data)}\n{trial(of, seed, number)}\n")
    return 0


def _keep(folder: Path | None, of: Format, seed: int, number: int) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        data = content(of, seed, number)[1]
        (folder / f"{of.name}-{seed}-{number}{of.suffix}").write_bytes(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
