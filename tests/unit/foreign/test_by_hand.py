"""Small histories written by hand, each with the strongest models that its definitions allow.

Derived from Adya, Liskov, O'Neil (ICDE 2000), Bailis et al. (SIGMOD 2014), Berenson et al. (SIGMOD
1995) and Elle (VLDB 2020), not from what the judge says. Transactions are concurrent, unless `;`
stands between them: then those before it had ended before those after it began.
"""

import json
import re
from typing import Any

import pytest

from ddlsim.foreign import jepsen
from ddlsim.graph.models import MODELS

RU, RC, RA, SI, SER = (
    "read-uncommitted", "read-committed", "read-atomic", "snapshot-isolation", "serializable",
)  # fmt: skip
SESSION = ("strong-session-snapshot-isolation", "strong-session-serializable")
REAL = ("strong-snapshot-isolation", "strict-serializable")
STRICT = "strict-serializable"
UNKNOWN = "unknown"

HISTORIES = {
    "one after the other": ("[:w x 1] ; [:r x 1]", STRICT),
    "only reads of nothing": ("[:r x nil] [:r y nil]", STRICT),
    "an empty transaction": (" | [:w x 1]", STRICT),
    "aborted read": ("fail [:w x 1] | [:r x 1]", RU),
    "aborted read, lists": ("fail [:append x 1] | [:r x [1]]", RU),
    "aborted and never read": ("fail [:append x 1] ; [:append x 2] ; [:r x [2]]", STRICT),
    "upon an aborted write": ("fail [:w x 1] | [:r x 1] [:w x 2]", RU),
    "intermediate read": ("[:w x 1] [:w x 2] | [:r x 1]", RU),
    "intermediate read, lists": ("[:append x 1] [:append x 2] | [:r x [1]]", RU),
    "each from the other": ("[:w x 1] [:r y 1] | [:w y 1] [:r x 1]", RU),
    "out of nothing": ("[:w x 1] | [:r x 7]", ""),
    "twice in a list": ("[:append x 1] | [:r x [1 1]]", ""),
    "two orders of a list": ("[:append x 1] | [:append x 2] | [:r x [1 2]] | [:r x [2 1]]", ""),
    "writes crossed": (
        "[:append x 1] [:append y 1] | [:append x 2] [:append y 2] | [:r x [1 2]] [:r y [2 1]]",
        "",
    ),
    "own write missed": ("[:append x 1] [:r x []]", RU),
    "own write missed, registers": ("[:w x 1] [:r x nil]", RU),
    "own write of later": ("[:r x 1] [:w x 1]", RU),
    "own write of later, lists": ("[:r x [1]] [:append x 1]", RU),
    "another value at the second look": ("[:r x nil] [:r x 1] | [:w x 1]", RC),
    "half of a transaction": ("[:w x 1] [:w y 1] | [:r x 1] [:r y nil]", RC),
    "half of a transaction, lists": (
        "[:append x 1] [:append y 1] | [:r x [1]] [:r y []]", RC),
    "a half of each": ("[:w x 1] [:w y 1] | [:w x 2] [:w y 2] | [:r x 1] [:r y 2]", RC),
    "effect without cause": ("[:w x 1] | [:r x 1] [:w y 1] | [:r y 1] [:r x nil]", RA),
    "lost update": ("[:r x nil] [:w x 1] | [:r x nil] [:w x 2]", RA),
    "lost update, lists": (
        "[:r x []] [:append x 1] | [:r x []] [:append x 2] ; [:r x [1 2]]", RA),
    "long fork": ("[:w x 1] | [:w y 1] | [:r x 1] [:r y nil] | [:r x nil] [:r y 1]", RA),
    "long fork, lists": (
        "[:append x 1] | [:append y 1] | [:r x [1]] [:r y []] | [:r x []] [:r y [1]]", RA),
    "write skew": ("[:r x nil] [:w y 1] | [:r y nil] [:w x 1]", SI),
    "write skew, lists": ("[:r x []] [:append y 1] | [:r y []] [:append x 1]", SI),
    "write skew of two that also write one key": (
        "[:r x []] [:append y 1] [:append z 1] | [:r y []] [:append x 1] [:append z 2]", RA),
    "only reading makes it wrong": (
        "[:r x nil] [:r y nil] [:w x 1] | [:r y nil] [:w y 1] | [:r x nil] [:r y 1]", SI),
    "only reading makes it wrong, lists": (
        "[:r x []] [:r y []] [:append x 1] | [:r y []] [:append y 1] | [:r x []] [:r y [1]]", SI),
    "three anti-dependencies": (
        "[:r x nil] [:w y 1] | [:r y nil] [:w z 1] | [:r z nil] [:w x 1]", SI),
    "lost update of a later version": (
        "[:r x nil] [:w x 1] | [:r x 1] [:w x 2] | [:r x 1] [:w x 3]", RA),
    "effect without cause, lists": (
        "[:append x 1] | [:r x [1]] [:append y 1] | [:r y [1]] [:r x []]", RA),
    "stale read": ("[:w x 1] ; [:r x nil]", "sessions"),
    "stale read of the own session": ("1: [:w x 1] ; 1: [:r x nil]", SER),
    "back in time in a session": ("[:w x 1] | 1: [:r x 1] ; 1: [:r x nil]", SER),
    "back in time": ("[:w x 1] | [:r x 1] ; [:r x nil]", "overlap"),
    "the last write is not the last": ("[:w x 1] ; [:w x 2] ; [:r x 1]", "sessions"),
    "either of two may be the last": ("[:w x 1] | [:w x 2] ; [:r x 1]", STRICT),
    "stale, and a write rests on it": ("[:w x 1] ; [:r x nil] [:w y 1]", "sessions"),
    "indeterminate and never seen": ("info [:append x 1] ; [:r x []] ; [:r x []]", STRICT),
    "indeterminate, seen much later": ("info [:w x 1] ; [:r x nil] ; [:r x 1]", STRICT),
    "indeterminate, seen and gone": ("info [:w x 1] ; [:r x 1] ; [:r x nil]", "sessions"),
    "indeterminate, seen in half": (
        "info [:append x 1] [:append y 1] ; [:r x [1]] [:r y []]", RC),
    "indeterminate, seen in turns": (
        "info [:append x 1] [:append y 1] ; [:r x [1]] ; [:r y []]", "sessions"),
    "keys of many kinds": ('[:w "1" 1] [:w 1 2] [:w :k 3] ; [:r 1 2] [:r :k 3] [:r "1" 1]', STRICT),
    "nil written": ("[:w x 1] ; [:w x nil] ; [:r x nil]", UNKNOWN),
}  # fmt: skip
"""By name: the transactions, and the strongest model. `sessions`: all but those of real time."""

LINE = (RU, RC, RA, SI, SER)


def allowed(strongest: str) -> set[str]:
    """The models that a history keeps to."""
    if strongest == STRICT:
        return set(MODELS)
    if strongest in {"sessions", "overlap"}:
        return set(MODELS) - set(REAL)
    found = set(LINE[: LINE.index(strongest) + 1]) if strongest else set()
    if strongest == SI:  # transactions at once: real time and sessions ask for no more
        found |= {"strong-session-snapshot-isolation", "strong-snapshot-isolation"}
    return found


def operations(text: str) -> list[list[Any]]:
    """What stands in brackets, as lists of texts."""
    stack: list[list[Any]] = [[]]
    for word in re.findall(r'"[^"]*"|\[|\]|[^\s\[\]]+', text):
        if word == "[":
            stack.append([])
        elif word == "]":
            stack[-2].append(stack.pop())
        else:
            stack[-1].append(word)
    return stack[0]


def entries(said: str) -> list[tuple[str, int, list[list[Any]]]]:
    """Invocations and answers of transactions; each has a process of its own unless it is told."""
    found: list[tuple[str, int, list[list[Any]]]] = []
    number = 100
    for group in said.split(";"):
        answers = []
        for one in group.split("|"):
            number += 1
            head = re.match(r"\s*(?:(\d):)?\s*(fail|info)?", one)
            assert head is not None
            process, type_ = int(head[1] or number), head[2] or "ok"
            told = operations(one[head.end() :])
            asked = [[*each[:2], "nil"] if each[0] == ":r" else each for each in told]
            found.append(("invoke", process, asked))
            answers.append((type_, process, told if type_ == "ok" else asked))
        found += answers
    return found


def edn(value: Any) -> str:
    if isinstance(value, list):
        return f"[{' '.join(map(edn, value))}]"
    return f":{value}" if value in {"x", "y", "z"} else str(value)


def plain(value: Any) -> Any:
    """As JSON has it: keywords and symbols are texts."""
    if isinstance(value, list):
        return list(map(plain, value))
    if value == "nil" or value.isdigit() or value.startswith('"'):
        return None if value == "nil" else json.loads(value)
    return value


def as_edn(said: str) -> str:
    return "".join(
        f"{{:type :{type_}, :f :txn, :value {edn(value)}, :process {process}, :index {at}}}\n"
        for at, (type_, process, value) in enumerate(entries(said))
    )


def objects(said: str) -> list[dict[str, object]]:
    return [
        {"type": type_, "f": "txn", "process": process, "value": plain(value), "index": at}
        for at, (type_, process, value) in enumerate(entries(said))
    ]


def as_lines(said: str) -> str:
    return "".join(f"{json.dumps(one)}\n" for one in objects(said))


def as_list(said: str) -> str:
    return json.dumps(objects(said), indent=1)


@pytest.mark.parametrize("write", [as_edn, as_lines, as_list])
@pytest.mark.parametrize("name", HISTORIES)
def test_the_models_that_a_history_keeps_to(name: str, write: object) -> None:
    said, strongest = HISTORIES[name]
    assert callable(write)
    history = jepsen.parse(write(said).encode())
    found = {model: jepsen.judge(history, model).verdict for model in MODELS}
    if strongest == UNKNOWN:
        assert {one.valid for one in found.values()} <= {UNKNOWN}
        return
    assert {model for model, one in found.items() if one.valid is True} == allowed(strongest)
    assert {model for model, one in found.items() if one.valid is False} == set(MODELS) - allowed(
        strongest
    )


COPIED = {"incompatible-order": SI}
LOST = "[:append x 1] [:append y 1] | [:r y [1]] [:append x 2] | [:r x [2]]"
"""The first append of x is in no read, and a transaction behind its own appended to x."""


@pytest.mark.parametrize(("weakest", "models"), [({}, {RU}), (COPIED, {RU, RC, RA})])
def test_an_append_that_a_copy_has_lost_has_no_place_behind_what_was_read(
    weakest: dict[str, str], models: set[str]
) -> None:
    """Only where DDL writes back rows that it has read may an append be lost and no model weaker
    than snapshot isolation broken."""
    history = jepsen.parse(as_edn(LOST).encode())
    judged = {model: jepsen.judge(history, model, weakest=weakest).verdict for model in MODELS}
    assert {model for model, one in judged.items() if one.valid is True} == models
    for model, one in judged.items():
        assert set(one.ruled_out) == (set(MODELS) - models if model not in models else set())


def test_a_copy_does_not_excuse_reads_in_a_circle() -> None:
    history = jepsen.parse(as_edn("[:append x 1] [:r y [1]] | [:append y 1] [:r x [1]]").encode())
    judged = {model: jepsen.judge(history, model, weakest=COPIED).verdict for model in MODELS}
    assert {model for model, one in judged.items() if one.valid is True} == {RU}
    assert "read-committed" in judged[SER].ruled_out
