"""Faults of conditions: guards, halves, copies, retries, and what is done for the first only."""

import ast
from collections.abc import Iterator

from ddlsim.mutation.operators.base import called, left_out, operator, waits
from ddlsim.mutation.source import Change, Function

JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


@operator("guard", ast.If)
def guard(function: Function, node: ast.AST) -> Iterator[Change]:
    """A guard that ends a function or a round of a loop is left out."""
    if _is_guard(node):
        assert isinstance(node, ast.If), node
        yield left_out(function, node)


def _is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], JUMPS)


@operator("condition", ast.If, ast.IfExp, ast.Return)
def condition(function: Function, node: ast.AST) -> Iterator[Change]:
    """A condition always holds, or never."""
    match node:
        case ast.If(test=test) if not _is_guard(node):
            yield function.replaced(test, "True")
            yield function.replaced(test, "False")
        case ast.IfExp(body=body, orelse=other):
            yield function.replaced(node, function.operand(body))
            yield function.replaced(node, function.operand(other))
        case ast.Return(value=ast.Compare() | ast.BoolOp() as value) if function.node.returns:
            if function.text(function.node.returns) == "bool":
                yield function.replaced(value, "True")
                yield function.replaced(value, "False")


@operator("half", ast.BoolOp)
def half(function: Function, node: ast.AST) -> Iterator[Change]:
    """One part of an `and` or `or` is left out."""
    if isinstance(node, ast.BoolOp):
        sign = " and " if isinstance(node.op, ast.And) else " or "
        for at in range(len(node.values)):
            left = [function.operand(one) for one in node.values[:at] + node.values[at + 1 :]]
            text = sign.join(left)
            yield function.replaced(node, text if len(left) == 1 else f"({text})")


@operator("negation", ast.UnaryOp)
def negation(function: Function, node: ast.AST) -> Iterator[Change]:
    """A `not` is left out."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield function.replaced(node, function.operand(operand))


@operator("copy", ast.Compare)
def copy(function: Function, node: ast.AST) -> Iterator[Change]:
    """What was seen before is taken for new: membership is not looked up."""
    match node:
        case ast.Compare(ops=[ast.In()], comparators=[ast.Name() | ast.Attribute()]):
            answer = "False"
        case ast.Compare(ops=[ast.NotIn()], comparators=[ast.Name() | ast.Attribute()]):
            answer = "True"
        case _:
            return
    if any(isinstance(one, ast.If | ast.BoolOp) for one in function.around(node)):
        yield function.replaced(node, answer)


@operator("retry", ast.While)
def retry(function: Function, node: ast.AST) -> Iterator[Change]:
    """A retry trusts the first answer: its loop ends after one round."""
    match node:
        case ast.While(test=ast.Constant(), body=body) if waits(node):
            guards = [one for one in body if isinstance(one, ast.If) and _is_guard(one)]
            for one in guards:
                if isinstance(one.body[-1], ast.Break | ast.Return):
                    yield function.replaced(one.test, "True")
        case ast.While(test=test, body=[first, *_]) if waits(node):
            begin, _ = function.module.span(node, node)
            until, _ = function.module.span(first, first)
            _, tested = function.module.span(test, test)
            end = tested + function.module.between(tested, until).index(":")
            yield Change(begin, end, f"for _ in (0,) * bool({function.text(test)})")


@operator("first", ast.For, ast.comprehension, ast.Call)
def first(function: Function, node: ast.AST) -> Iterator[Change]:
    """Only the first of several is handled; `all` is `any`."""
    match node:
        case ast.For(iter=several) | ast.comprehension(iter=several):
            yield function.replaced(
                several, f'__import__("itertools").islice({function.text(several)}, 1)'
            )
        case ast.Call(func=ast.Name(id="all" | "any")):
            yield function.replaced(node.func, "any" if called(node) == "all" else "all")
