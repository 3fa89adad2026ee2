"""Finds loops over sets: their order depends on PYTHONHASHSEED, so a run must not see it.

The finder is syntactic.  A set is a literal, a comprehension, a call of `set` or `frozenset`, a set
operation on one of these, or a name or attribute that the same file assigns such a thing or
annotates as a set.  A loop over it is fine only inside a call that does not care for order.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.house.tidy import ORDERED, at
from tests.house.tree import nodes, python_files

SET_TYPES = {"set", "frozenset", "Set", "FrozenSet", "AbstractSet", "MutableSet"}
CAREFREE = {"sorted", "set", "frozenset", "any", "all", "sum", "len"}  # min, max: ties with a key
LISTERS = {"list", "tuple", "iter", "enumerate", "map", "filter", "zip", "dict", "join"}
SET_METHODS = {"union", "difference", "intersection", "symmetric_difference", "copy"}
OPERATORS = (ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor)


def set_loops(root: Path) -> Iterator[str]:
    """No run depends on the order of a set."""
    for path in python_files(root, *ORDERED):
        tree = nodes(path)
        known = _known_sets(tree)
        for node in _looks(tree):
            if _is_set(node, known):
                yield f"{at(root, path)}:{node.lineno}: the order of a set; sort it, or keep a dict"


def _known_sets(tree: Sequence[ast.AST]) -> set[str]:
    """Names and attributes that this file declares to be sets."""
    known: set[str] = set()
    for node in tree:
        match node:
            case ast.AnnAssign(target=target, annotation=kind) if _is_set_type(kind):
                known.add(_last_name(target))
            case ast.arg(arg=name, annotation=ast.expr() as kind) if _is_set_type(kind):
                known.add(name)
            case ast.Assign(targets=[target], value=value) if _is_set(value, set()):
                known.add(_last_name(target))
    return known - {""}


def _is_set_type(annotation: ast.expr) -> bool:
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return _last_name(annotation) in SET_TYPES


def _last_name(node: ast.expr) -> str:
    """`x` of `x`, of `self.x` and of `a.b.x`."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_set(node: ast.expr, known: set[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(attr=method, value=value)) if method in SET_METHODS:
            return _is_set(value, known)
        case ast.BinOp(left=left, right=right, op=op) if isinstance(op, OPERATORS):
            return any(_is_set(side, known) or _is_view(side) for side in (left, right))
        case ast.Name() | ast.Attribute():
            return _last_name(node) in known
    return False


def _is_view(node: ast.expr) -> bool:
    """`d.keys()` and `d.items()` keep their order, but an operation on them makes a set."""
    return isinstance(node, ast.Call) and _last_name(node.func) in {"keys", "items"}


def _looks(tree: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Every expression whose order the file can see."""
    calls = [node for node in tree if isinstance(node, ast.Call)]
    carefree = [call for call in calls if getattr(call.func, "id", "") in CAREFREE]
    unseen = {id(argument) for call in carefree for argument in call.args}
    for node in tree:
        match node:
            case ast.For(iter=source) | ast.Starred(value=source):
                yield source
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp() if id(node) not in unseen:
                yield from (part.iter for part in node.generators)
            case ast.Call(func=ast.Attribute(attr="pop", value=source), args=[]):
                yield source
            case ast.Call() if _last_name(node.func) in LISTERS:
                yield from (argument for argument in node.args if id(node) not in unseen)
