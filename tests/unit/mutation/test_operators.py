"""Each operator makes the changes that its summary says, and none where only is observed."""

from textwrap import dedent, indent

import pytest

from ddlsim.mutation.operators.table import OPERATORS
from ddlsim.mutation.source import Module, marked

Cases = dict[str, list[tuple[str, list[str]]]]
"""By operator: bodies of a function, and what each of its changes makes of them, in order."""

CASES: Cases = {
    "wait": [("await ready\nreturn 1", ["pass\nreturn 1"]), ("x = await ready", [])],
    "order": [
        ("await ready\nself.free()", ["self.free()\nawait ready"]),
        ("x = await ready\nself.free()", []),
    ],
    "comparison": [
        ("return a < b", ["return a <= b"]),
        ("return (a) >= (b or c)", ["return (a) > (b or c)"]),
        ("return a == b", []),
    ],
    "off-by-one": [
        ("return last + 1", ["return last"]),
        ("tries += 1", ["pass"]),
        ("return last + 2", []),
    ],
    "duration": [
        ("return now + skew_ms", ["return now"]),
        ("return delay_ms + skew_ms", ["return delay_ms", "return skew_ms"]),
        ("return plus_ms(ts, skew)", ["return ts"]),
        ("return a + b", []),
    ],
    "timestamp": [
        ("return read(begin_ts)", ["return read(op_ts)"]),
        ("begin_ts = 1", []),
        (
            "go(self.op_ts)\nreturn read(op_ts)",
            ["go(begin_ts)\nreturn read(op_ts)", "go(self.op_ts)\nreturn read(begin_ts)"],
        ),
        ("return self.rules.at_ts(1)", []),
    ],
    "clock-merge": [
        ("node.clock.update(sent)", ["pass"]),
        ("self._merge(sent)", ["pass"]),
        ("return clock.beyond(last)", ["return clock.now()"]),
        ("rows.update(more)", []),
    ],
    "min-max": [("return max(a, b)", ["return min(a, b)"])],
    "guard": [
        ("if a:\n    return 1\ngo()", ["pass\ngo()"]),
        ("if a:\n    go()", []),
        ("if node.recording:\n    return", []),
    ],
    "condition": [
        ("if a:\n    go()", ["if True:\n    go()", "if False:\n    go()"]),
        ("return a if b else (c or d)", ["return a", "return (c or d)"]),
        ("if a:\n    return 1", []),
        ("x = a if node.recording else b", []),
    ],
    "half": [
        ("return a and b", ["return b", "return a"]),
        ("return a or b or c", ["return (b or c)", "return (a or c)", "return (a or b)"]),
        ("assert a and b", []),
    ],
    "negation": [("return not a", ["return a"]), ("return not (a or b)", ["return (a or b)"])],
    "copy": [
        ("if op in self.seen:\n    return", ["if False:\n    return"]),
        ("if op not in seen:\n    go()", ["if True:\n    go()"]),
        ("if op in {1, 2}:\n    return", []),
    ],
    "retry": [
        (
            "while left:\n    await go()",
            ["for _ in (0,) * bool(left):\n    await go()"],
        ),
        (
            "while (\n    a or b\n):\n    await go()",
            ["for _ in (0,) * bool(a or b):\n    await go()"],
        ),
        (
            "while True:\n    r = await go()\n    if r:\n        return r",
            ["while True:\n    r = await go()\n    if True:\n        return r"],
        ),
        ("while left:\n    go()", []),
    ],
    "first": [
        (
            "for one in several:\n    go(one)",
            ['for one in __import__("itertools").islice(several, 1):\n    go(one)'],
        ),
        ("return all(several)", ["return any(several)"]),
    ],
    "message": [
        ("node.send(to, it)", ["pass"]),
        ("self.outbox.append(it)", ["pass"]),
        ("self._arm_resend()", ["pass"]),
        ("rows.append(it)", []),
    ],
    "effect": [
        ("self.locks.release(tx)", ["pass"]),
        ("rows.append(it)", ["pass"]),
        ("node.probe('x')", []),
        ("self._record(tx)", []),
        ("node.send(to, it)", []),
    ],
    "state": [
        ("self.term = term", ["pass"]),
        ("self.a, self.b = a, b", ["pass"]),
        ("del rows[key]", ["pass"]),
        ("self.sum += more", ["pass"]),
        ("term = 1", []),
    ],
    "field": [
        ("return PartitionState(self.rows)", ["return PartitionState(type(self.rows)())"]),
        ("return Other(self.rows)", []),
    ],
}


def module(body: str, name: str = "f") -> Module:
    arguments = "self, begin_ts: Timestamp, op_ts: Timestamp"
    text = indent(body, "    ")
    return Module("protocol/f.py", f"async def {name}({arguments}) -> object:\n{text}\n")


def changed(operator: str, body: str, name: str = "f") -> list[str]:
    """The bodies that an operator makes of one."""
    of = module(body, name)
    found = []
    for function in of.functions():
        for node in function.parents:
            for change in OPERATORS[operator].make(function, node):
                text = of.changed(change)
                compile(text, "f.py", "exec")
                found.append(dedent(text.partition("\n")[2]).rstrip("\n"))
    return found


def test_every_operator_has_cases_that_it_changes() -> None:
    assert set(CASES) == set(OPERATORS)
    assert all(any(after for _, after in cases) for cases in CASES.values())
    assert all(operator.summary.endswith(".") for operator in OPERATORS.values())


@pytest.mark.parametrize(
    ("operator", "body", "after"),
    [(name, body, after) for name, cases in CASES.items() for body, after in cases],
)
def test_an_operator_makes_its_changes(operator: str, body: str, after: list[str]) -> None:
    assert changed(operator, body) == after


def test_an_operator_makes_changes_at_nodes_of_its_kinds_alone() -> None:
    for file in ("layer/schema_change.py", "protocol/transaction/commit.py"):
        for function in Module.read(file).functions():
            for node in function.parents:
                for operator in OPERATORS.values():
                    if type(node) not in operator.kinds:
                        assert not list(operator.make(function, node)), operator.name


def test_field_changes_what_a_snapshot_restores() -> None:
    assert changed("field", "self.a, self.b = state.a, state.b", "install") == [
        "self.a, self.b = self.a, state.b",
        "self.a, self.b = state.a, self.b",
    ]
    assert changed("field", "self.a, self.b = state.a, state.b", "other") == []


@pytest.mark.parametrize("name", ["record_read", "_record_commit", "probe"])
def test_functions_that_only_observe_are_left_alone(name: str) -> None:
    assert changed("comparison", "return a < b", name) == []


def test_state_leaves_the_first_values_of_an_object() -> None:
    assert changed("state", "self.term = 1", "__init__") == []


def test_sentence_names_the_place_and_changed_has_the_change() -> None:
    of = module("return a < b  # — until then")
    (function,) = of.functions()
    (change,) = [
        change
        for node in function.parents
        for change in OPERATORS["comparison"].make(function, node)
    ]
    assert of.sentence(change) == "protocol/f.py:2: `<` becomes `<=`"
    assert of.changed(change) == of.source.replace("a < b", "a <= b")


def test_changes_behind_signs_of_several_bytes_are_placed_right() -> None:
    assert changed("comparison", 'go("→…"); return a < b') == ['go("→…"); return a <= b']


def test_marked_calls_the_mark_before_the_innermost_statement() -> None:
    source = "def f():\n    if a:\n        go(b)\n    elif c:\n        pass\n"
    seen: list[str] = []
    for line, column in ((3, 8), (4, 9)):
        code = compile(marked(source, line, column), "f.py", "exec")
        names = {"_mutant_reached": lambda: seen.append("mark"), "go": seen.append, "b": "b"}
        exec(code, names)
        names |= {"a": line == 3, "c": True}
        names["f"]()
    assert seen == ["mark", "b", "mark"]
