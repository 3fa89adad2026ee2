"""The judge of external histories against the oracle, over many small histories and every model.

python -m tests.isolation.agree --histories 20000

"ok" may be said only of what the oracle explains, "violated" only of what it does not; `not` names
only models that the oracle refutes too and that the file fails when asked for. How often the answer
is "unknown" is told.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any, NamedTuple

from ddlsim.foreign import jepsen
from ddlsim.foreign.readers.problems import ForeignError
from tests.isolation import made, oracle
from tests.isolation.oracle import MODELS, Transaction


class Sum(NamedTuple):
    """Answers by workload, model, validity and answer; and what disagrees, in words."""

    answers: Counter[tuple[str, str, bool, str]]
    wrong: list[str]
    open: Counter[bool]
    """Answers "unknown", by whether the history leaves a doubt."""


def workload_of(history: tuple[Transaction, ...]) -> str:
    """Lists or registers."""
    names = {name for one in history for name, _, _ in one.operations}
    return "registers" if "w" in names else "lists" if "append" in names else "reads"


def answers_of(history: tuple[Transaction, ...]) -> dict[str, Any]:
    """The verdict on a history under every model."""
    data = (made.as_edn, made.as_json)[len(history[0].operations) % 2](history)
    parsed = jepsen.parse(data)
    return {name: jepsen.judge(parsed, name).verdict for name in MODELS}


def ambiguous(history: tuple[Transaction, ...]) -> bool:
    """Whether a value was written twice to a key: at read-uncommitted nothing is defined then.

    Nil is what each key has at first, so that a write of it is the second one.
    """
    written = Counter(
        (key, value) for one in history for name, key, value in one.operations if name != "r"
    )
    return any(count > 1 or value is None for (_, value), count in written.items())


def doubtful(history: tuple[Transaction, ...], model: str) -> bool:
    """Whether "unknown" may be the best answer: what is told of some transaction leaves a doubt."""
    none = not any(one.status == "ok" and one.operations for one in history)
    return none or untold(history, model) or ambiguous(history) or by_keyword(history)


def untold(
    history: tuple[Transaction, ...], model: str, ended: Container[str] = ("ok", "info")
) -> bool:
    """Whether a model asks for orders that a history leaves out, of a transaction of no process."""
    return model.startswith("str") and any(one.begin < 0 and one.status in ended for one in history)


def by_keyword(history: tuple[Transaction, ...]) -> bool:
    """Whether a process is no number, so that its transaction is lost."""
    return any(isinstance(one.process, str) for one in history)


def compare(seed: int, found: Sum) -> None:
    """One history under every model."""
    history = made.made(seed)
    try:
        verdicts = answers_of(history)
    except ForeignError:
        if not by_keyword(history):
            raise
        return  # nothing is left of it
    skipped = {"read-uncommitted"} if ambiguous(history) else set()
    valid = {name: oracle.explained(history, name) for name in MODELS if name not in skipped}
    for name, is_valid in valid.items():
        verdict = verdicts[name]
        found.answers[workload_of(history), name, is_valid, str(verdict.valid)] += 1
        found.open[doubtful(history, name)] += verdict.valid == "unknown"
        if verdict.valid is True and (by_keyword(history) or untold(history, name, {"ok"})):
            found.wrong.append(f"seed {seed}, {name}: ok, though not all of it is told")
        if verdict.valid in {True, False} and verdict.valid is not is_valid:
            found.wrong.append(f"seed {seed}, {name}: {verdict.valid}, but {is_valid}: "
                               f"{verdict.types}")  # fmt: skip
        for other in set(verdict.ruled_out) & valid.keys():
            if valid[other] or verdicts[other].valid is not False:
                found.wrong.append(
                    f"seed {seed}, {name}: not {other}, but that is {valid[other]}, and asked for "
                    f"it {verdicts[other].valid}: {verdict.types}"
                )
        if verdict.valid is False and name not in verdict.ruled_out:
            found.wrong.append(f"seed {seed}, {name}: violated, and not in `not`: {verdict.types}")


def compared(seeds: Iterable[int]) -> Sum:
    """All of them."""
    found = Sum(Counter(), [], Counter())
    for seed in seeds:
        try:
            compare(seed, found)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
    return found


def table(found: Sum) -> str:
    """The answers as a table."""
    valid = f"{'valid: ok':>12}{'unknown':>9}{'wrong':>7}"
    invalid = f"{'invalid: violated':>18}{'unknown':>9}{'wrong':>7}"
    lines = [f"{'':44}{valid}   {invalid}"]
    for workload in ("lists", "registers", "reads"):
        for name in MODELS:
            cells = [
                found.answers[workload, name, valid, answer]
                for valid, right in ((True, "True"), (False, "False"))
                for answer in (right, "unknown", str(not valid))
            ]
            if any(cells):
                lines.append(
                    f"{workload:10}{name:34}{cells[0]:>12}{cells[1]:>9}{cells[2]:>7}   "
                    f"{cells[3]:>18}{cells[4]:>9}{cells[5]:>7}"
                )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Compare, print, and end with 1 if anything disagrees."""
    parser = argparse.ArgumentParser(prog="python -m tests.isolation.agree", description=__doc__)
    parser.add_argument("--histories", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    found = compared(range(options.first, options.first + options.histories))
    sys.stdout.write(f"{table(found)}\n")
    sys.stdout.write(f"unknown without a doubt in the history: {found.open[False]}\n")
    for line in found.wrong[:40]:
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"{len(found.wrong)} disagreements\n")
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
