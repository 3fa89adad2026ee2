"""Faults of effects: messages, writes of the state, fields of snapshots and of the disk."""

import ast
from collections.abc import Iterator

from ddlsim.mutation.operators.base import called, left_out, operator
from ddlsim.mutation.source import Change, Function

SENDS = ("send", "_send", "spawn", "request", "call_later", "_arm", "on", "watch")
"""How the names of calls begin that send something, or begin or repeat something later."""
STATES = ("MetaState", "PartitionState", "Mark", "RaftLog")
"""The records that snapshots and the disk consist of."""


@operator("message", ast.Expr)
def message(function: Function, node: ast.AST) -> Iterator[Change]:
    """A message is not sent, or not again; a timer, task or listener is not begun."""
    if isinstance(node, ast.Expr) and _sends(function, node):
        yield left_out(function, node)


def _sends(function: Function, node: ast.Expr) -> bool:
    name = called(node.value)
    if name == "append" and isinstance(node.value, ast.Call):
        return "outbox" in function.text(node.value.func)
    return any(name == one or name.startswith(f"{one}_") for one in SENDS)


@operator("effect", ast.Expr)
def effect(function: Function, node: ast.AST) -> Iterator[Change]:
    """A call for its effect is left out: nothing is released, woken, appended."""
    match node:
        case ast.Expr(value=ast.Call(func=func)) if not _sends(function, node):
            if "update" not in function.text(func) and "super" not in function.text(func):
                yield left_out(function, node)


@operator("state", ast.Assign, ast.Delete, ast.AugAssign)
def state(function: Function, node: ast.AST) -> Iterator[Change]:
    """A write of the state is left out."""
    if function.node.name == "__init__":
        return
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            pass
        case ast.AugAssign(target=target, value=value):
            targets = [] if getattr(value, "value", None) == 1 else [target]
    flat = [part for one in targets for part in getattr(one, "elts", [one])]
    if flat and all(isinstance(one, ast.Attribute | ast.Subscript) for one in flat):
        assert isinstance(node, ast.stmt), node
        yield left_out(function, node)


@operator("field", ast.Call, ast.Assign)
def field(function: Function, node: ast.AST) -> Iterator[Change]:
    """A field of a snapshot or of the disk is left out when it is written, or when it is read."""
    if isinstance(node, ast.Call) and called(node) in STATES:
        for value in (*node.args, *(word.value for word in node.keywords)):
            yield function.replaced(value, f"type({function.text(value)})()")
    if function.node.name not in {"install", "_install", "replace"}:
        return
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=True):
                yield function.replaced(value, function.text(target))
