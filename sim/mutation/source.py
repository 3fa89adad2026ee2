"""Python source as the operators see it: functions, their nodes, and one replaced piece of text.

Observation is no part of the protocol: assertions, probes, what is recorded, texts and annotations
are never changed.
"""

import ast
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

HOLDERS: Final = (ast.stmt, ast.excepthandler, ast.match_case)
"""What a list of statements may be in."""
ROOT: Final = Path(__file__).resolve().parents[1]
"""The folder of the package `ddlsim`."""
PACKAGE: Final = "ddlsim"
MARK: Final = "_mutant_reached"
"""The built-in function that a mutated module calls before the changed statement."""
COUNTS: Final = "_statement_counts"
"""The built-in list in which counted modules count the executions of their statements."""
OBSERVING: Final = ("record", "_record", "probe", "__repr__", "label")
"""How the names of functions begin that only observe."""
NO_CODE: Final = frozenset(("annotation", "returns", "decorator_list"))
"""The fields of nodes in which nothing is changed."""
SHOWN: Final = 72
"""The number of characters of a piece of source that a sentence shows."""

PLAIN: Final = (ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.Subscript)
"""Expressions that need no parentheses anywhere."""
Def = ast.FunctionDef | ast.AsyncFunctionDef


class Change(NamedTuple):
    """The text that replaces the bytes of a source from `begin` until before `end`."""

    begin: int
    end: int
    text: str


NONE: Final = Change(0, 0, "")


class Function:
    """One function or method of a module."""

    def __init__(self, module: "Module", name: str, node: Def) -> None:
        self.module = module
        self.name = name
        self.node = node
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        self.parameters = {one.arg: one.annotation for one in arguments}

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each of its nodes that may be changed, in the order of the text.

        Nested functions are left out.
        """
        found: dict[ast.AST, ast.AST] = {}
        left: list[tuple[ast.AST, ast.AST]] = [(one, self.node) for one in self.node.body[::-1]]
        while left:
            node, around = left.pop()
            if is_observing(node):
                continue
            found[node] = around
            children = [one for one in _children(node) if one._fields]  # `Load()` is one for all
            left += [(one, node) for one in children[::-1]]
        return found

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        return self.module.text(node)

    def operand(self, node: ast.AST) -> str:
        """The source of an expression, in parentheses where it may need them."""
        text = self.text(node)
        if isinstance(node, PLAIN) or (isinstance(node, ast.Tuple) and text.startswith("(")):
            return text
        return f"({text})"

    def replaced(self, node: ast.AST, text: str) -> Change:
        """One node becomes this text."""
        return Change(*self.module.span(node, node), text)

    def parent(self, node: ast.AST) -> ast.AST:
        """The node around a node."""
        return self.parents[node]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node within the function, the nearest first."""
        while node is not self.node:
            node = self.parent(node)
            yield node


class Module:
    """The source of one module; `file` is relative to the package's folder."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.source = source
        self.tree = ast.parse(source)
        self._bytes = source.encode()
        self._starts = [0]
        self._spans: list[tuple[int, int, ast.expr | ast.stmt]] = []
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    @classmethod
    def read(cls, file: str) -> "Module":
        """The module in this file of the package."""
        return cls(file, (ROOT / file).read_text("utf-8"))

    @cached_property
    def name(self) -> str:
        """Its name for `import`."""
        return ".".join((PACKAGE, *Path(self.file).with_suffix("").parts))

    def functions(self) -> Iterator[Function]:
        """Every function that does more than observe, in the order of the text."""
        yield from self._functions(self.tree, "")

    def _functions(self, node: ast.AST, prefix: str) -> Iterator[Function]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Def):
                if child.name.startswith(OBSERVING):
                    continue
                yield Function(self, f"{prefix}{child.name}", child)
                yield from self._functions(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.ClassDef):
                yield from self._functions(child, f"{prefix}{child.name}.")
            elif isinstance(child, ast.stmt):
                yield from self._functions(child, prefix)

    def span(self, first: ast.AST, last: ast.AST) -> tuple[int, int]:
        """The first byte of one node, and the byte behind the other."""
        begin = self._starts[_number(first, "lineno") - 1] + _number(first, "col_offset")
        end = self._starts[_number(last, "end_lineno") - 1] + _number(last, "end_col_offset")
        return begin, end

    def text(self, node: ast.AST) -> str:
        """The source of a node."""
        return self.between(*self.span(node, node))

    def spans(self) -> list[tuple[int, int, ast.expr | ast.stmt]]:
        """The spans of all expressions and statements, inner ones behind outer ones."""
        if not self._spans:
            nodes = [one for one in ast.walk(self.tree) if isinstance(one, ast.expr | ast.stmt)]
            self._spans = [(*self.span(one, one), one) for one in nodes]
        return self._spans

    def between(self, begin: int, end: int) -> str:
        """The source between two bytes."""
        return self._bytes[begin:end].decode()

    def place(self, change: Change) -> tuple[int, int]:
        """The line of a change, from 1, and the byte in it, from 0."""
        line = bisect_right(self._starts, change.begin)
        return line, change.begin - self._starts[line - 1]

    def changed(self, change: Change) -> str:
        """The source with one change."""
        begin, end, text = change
        return (self._bytes[:begin] + text.encode() + self._bytes[end:]).decode()

    def sentence(self, change: Change) -> str:
        """What a change does, in one line."""
        before = _short(self.between(change.begin, change.end))
        where = f"{self.file}:{self.place(change)[0]}"
        if change.text == "pass":
            return f"{where}: `{before}` is left out"
        return f"{where}: `{before}` becomes `{_short(change.text)}`"


def _number(node: ast.AST, name: str) -> int:
    """A position that statements and expressions have, and few other nodes do not."""
    found: int = getattr(node, name)
    return found


def marked(source: str, line: int, column: int) -> ast.Module:
    """The tree of a module that calls `MARK` before the innermost statement at a place."""
    tree = ast.parse(source)
    _insert(f"{MARK}()", *_innermost(tree, line, column))
    return ast.fix_missing_locations(tree)


def counted(tree: ast.Module, first: int) -> int:
    """Have a tree count its statements in `COUNTS`, from `first` on; the next number."""
    lists = [(body, len(body)) for body in _lists(tree)]
    for body, length in lists:
        for at in range(length):
            _insert(f"{COUNTS}[{first + at}] += 1", body, 2 * at)
        first += length
    ast.fix_missing_locations(tree)
    return first


def number_of_statements(tree: ast.Module) -> int:
    """How many statements `counted` counts."""
    return sum(len(body) for body in _lists(tree))


def number_at(tree: ast.Module, line: int, column: int) -> int:
    """The number of the innermost statement at a place, where those of a module begin with 0."""
    place = _innermost(tree, line, column)
    number = 0
    for body in _lists(tree):
        if body is place[0]:
            return number + place[1]
        number += len(body)
    raise AssertionError(f"no function has a statement at {line}:{column}")


def inside(tree: ast.Module, line: int, column: int) -> tuple[int, int]:
    """The place of the first statement under the one at a place, such as an `if`."""
    body, at = _innermost(tree, line, column)
    first = next(_lists(body[at]))[0]
    return first.lineno, first.col_offset


def _insert(text: str, body: list[ast.stmt], at: int) -> None:
    statement = ast.parse(text).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, body[at])
    body.insert(at, statement)


def _lists(tree: ast.AST, *, outside: bool = False) -> Iterator[list[ast.stmt]]:
    """Every list of statements, those of modules and classes themselves only with `outside`."""
    left = deque([tree])  # as `ast.walk`, but no expression holds a statement
    while left:
        node = left.popleft()
        left.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, HOLDERS))
        if isinstance(node, ast.Module | ast.ClassDef) and not outside:
            continue
        for name in ("body", "orelse", "finalbody"):
            body: object = getattr(node, name, None)  # an expression in `a if b else c`
            if isinstance(body, list):
                yield body


def _innermost(tree: ast.AST, line: int, column: int) -> tuple[list[ast.stmt], int]:
    """The list of statements that holds the innermost one at a place, and its index there."""
    found: tuple[list[ast.stmt], int] | None = None
    for body in _lists(tree, outside=True):
        for at, statement in enumerate(body):
            if _covers(statement, line, column):
                found = body, at  # `walk` comes to the inner ones later
    assert found is not None, f"no statement at {line}:{column}"
    return found


def _covers(node: ast.stmt, line: int, column: int) -> bool:
    assert node.end_lineno is not None, "a parsed node ends somewhere"
    assert node.end_col_offset is not None, "a parsed node ends somewhere"
    begins = (node.lineno, node.col_offset) <= (line, column)
    return begins and (line, column) < (node.end_lineno, node.end_col_offset)


def is_observing(node: ast.AST) -> bool:
    """Whether a node only observes, or is a text or an annotation."""
    match node:
        case ast.Assert() | ast.Raise() | ast.JoinedStr() | ast.FunctionDef():
            return True
        case ast.AsyncFunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=test) | ast.IfExp(test=test):
            return any(getattr(one, "attr", "") == "recording" for one in ast.walk(test))
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name))):
            return name.startswith(OBSERVING)
    return False


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes in a node that may be changed; `ast.iter_child_nodes` is three times as slow."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            if name not in NO_CODE:
                found.append(value)
        elif isinstance(value, list) and name not in NO_CODE:
            found += [one for one in value if isinstance(one, ast.AST)]
    return found


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 4]} ..."
