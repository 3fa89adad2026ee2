"""Faults of waits, clocks, timestamps, durations and bounds."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from ddlsim.mutation.operators.base import called, left_out, names, operator, waits
from ddlsim.mutation.source import Change, Function

SIGNS: Final[dict[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
}
DURATION: Final = re.compile(r"(?:^|_)(?:ms|us|skew|delay|spread|timeout|lag)(?:$|_)")
"""In the name of a duration."""


@operator("wait", ast.Expr)
def wait(function: Function, node: ast.AST) -> Iterator[Change]:
    """A wait is left out."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await):
        yield left_out(function, node)


@operator("order", ast.Expr, ast.For)
def order(function: Function, node: ast.AST) -> Iterator[Change]:
    """What follows a wait is done before it: a lock is released early, a write comes too soon."""
    then = _next(function.parent(node), node)
    match then:
        case ast.Assign() | ast.AugAssign() | ast.Delete() | ast.Expr(value=ast.Call()):
            if isinstance(node, ast.Expr | ast.For) and waits(node):
                begin, end = function.module.span(node, then)
                space = " " * node.col_offset
                yield Change(begin, end, f"{function.text(then)}\n{space}{function.text(node)}")


def _next(around: ast.AST, node: ast.AST) -> ast.AST | None:
    """The statement behind a statement."""
    for _, body in ast.iter_fields(around):
        if isinstance(body, list) and node in body[:-1]:
            found: ast.AST = body[body.index(node) + 1]
            return found
    return None


@operator("comparison", ast.Compare)
def comparison(function: Function, node: ast.AST) -> Iterator[Change]:
    """A bound is shifted by one: `<` becomes `<=`, `>=` becomes `>`."""
    match node:
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in SIGNS:
            _, begin = function.module.span(left, left)
            end, _ = function.module.span(right, right)
            text = function.module.between(begin, end)  # with parentheses, perhaps
            old, new = SIGNS[type(sign)]
            yield Change(begin, end, text.replace(old, new, 1))


@operator("off-by-one", ast.BinOp, ast.AugAssign)
def off_by_one(function: Function, node: ast.AST) -> Iterator[Change]:
    """One that is added or subtracted is left out."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield function.replaced(node, function.operand(left))
        case ast.AugAssign(op=ast.Add() | ast.Sub(), value=ast.Constant(value=1)):
            yield left_out(function, node)


@operator("duration", ast.BinOp, ast.Call)
def duration(function: Function, node: ast.AST) -> Iterator[Change]:
    """DD, CSmax or another duration is left out of a sum."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right) if _is_duration(right):
            yield function.replaced(node, function.operand(left))
            if _is_duration(left) and isinstance(node.op, ast.Add):
                yield function.replaced(node, function.operand(right))
        case ast.Call(func=ast.Name(id="plus_ms"), args=[ts, _]):
            yield function.replaced(node, function.text(ts))


def _is_duration(node: ast.expr) -> bool:
    return any(DURATION.search(name) for name in names(node))


@operator("timestamp", ast.Name, ast.Attribute)
def timestamp(function: Function, node: ast.AST) -> Iterator[Change]:
    """Another timestamp in scope is used."""
    if not _is_timestamp(node) or not isinstance(getattr(node, "ctx", None), ast.Load):
        return
    around = function.parent(node)
    if isinstance(around, ast.Call) and around.func is node:
        return  # a rule of the design, not a timestamp
    if isinstance(around, ast.Compare) and isinstance(around.ops[0], ast.Is | ast.IsNot):
        return
    own = function.text(node)
    others = [text for text in _timestamps(function, node) if not _is_same(text, own)]
    later = [text for text in others if text > own]
    if others:
        yield function.replaced(node, (later or others)[0])


def _is_same(text: str, own: str) -> bool:
    """Whether two texts are one timestamp: variables have the names of fields they are made of."""
    short, long = sorted((text, own), key=len)
    return text == own or ("." not in short and long.endswith(f".{short}"))


def _timestamps(function: Function, at: ast.AST) -> list[str]:
    """The timestamps that a node's function has bound where the node stands, in their order."""
    found: set[str] = set()
    at_line = at.lineno  # type: ignore[attr-defined]  # an expression has one
    for name, annotation in function.parameters.items():
        if _is_stamp(name) and annotation is not None:
            found |= {name} if function.text(annotation) == "Timestamp" else set()
    for one in function.parents:
        if getattr(one, "lineno", at_line) >= at_line:
            continue
        match one:
            case ast.Attribute(value=ast.Name(id=base)) if _is_timestamp(one):
                called_one = getattr(function.parent(one), "func", None) is one
                if base in function.parameters and not called_one:
                    found.add(function.text(one))
            case ast.Name(id=name, ctx=ast.Store()) if _is_stamp(name):
                statement = function.parent(one)
                if statement in function.node.body:
                    found.add(name)
    return sorted(found)


def _is_timestamp(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return _is_stamp(name)
        case ast.Attribute(attr=name, value=ast.Name()):
            return _is_stamp(name)
    return False


def _is_stamp(name: str) -> bool:
    return name in {"ts", "stamp", "safe_time", "last_stamp"} or name.endswith("_ts")


@operator("clock-merge", ast.Expr, ast.Call)
def clock_merge(function: Function, node: ast.AST) -> Iterator[Change]:
    """A timestamp from elsewhere is not merged into the clock."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="update", value=clock))):
            if "clock" in function.text(clock) or function.text(clock) == "self":
                yield left_out(function, node)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="_merge" | "merge"))):
            yield left_out(function, node)
        case ast.Call(func=ast.Attribute(attr="beyond", value=clock), args=[_]):
            yield function.replaced(node, f"{function.text(clock)}.now()")


@operator("min-max", ast.Call)
def min_max(function: Function, node: ast.AST) -> Iterator[Change]:
    """The largest is taken for the smallest, or the other way round."""
    if isinstance(node, ast.Call) and called(node) in {"min", "max"}:
        yield function.replaced(node.func, "min" if called(node) == "max" else "max")
