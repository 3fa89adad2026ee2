"""Imports modules from changed source, beside the others as they are."""

import ast
import builtins
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Final, NamedTuple, Self

from ddlsim.mutation.infection import WATCH, watch, watching
from ddlsim.mutation.mutants import Mutant, files, mutants
from ddlsim.mutation.source import (
    COUNTS,
    MARK,
    ROOT,
    Module,
    counted,
    marked,
    number_of_statements,
)

THIRD_PARTY: Final = (
    "simpy",
    "numpy",
    "numpy.random",
    "msgspec",
    "networkx",
    "sqlglot",
    "sqlglot.dialects",
    "orjson",
)
"""What the parent imports once for all trials."""


class Reached:
    """Counts how often the changed statement was about to be executed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


class _Changed(NamedTuple):
    """A module's file, and its changed code."""

    path: str
    code: CodeType

    @classmethod
    def of(cls, file: str, tree: ast.Module) -> Self:
        """The compiled tree in the place of a file."""
        path = str(ROOT / file)
        return cls(path, compile(tree, path, "exec", dont_inherit=True))


class _Loader(Loader):
    """Executes a changed module; no compiled copy of it is read or written."""

    def __init__(self, changed: _Changed) -> None:
        self._changed = changed

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None  # an ordinary one

    def exec_module(self, module: ModuleType) -> None:
        exec(self._changed.code, module.__dict__)


class _Finder(MetaPathFinder):
    def __init__(self, changed: Mapping[str, _Changed]) -> None:
        self._changed = changed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        changed = self._changed.get(fullname)
        if changed is None:
            return None
        return spec_from_file_location(fullname, changed.path, loader=_Loader(changed))


def _use(changed: Mapping[str, _Changed]) -> None:
    for name in changed:
        assert name not in sys.modules, f"{name} is imported already"
    sys.meta_path.insert(0, _Finder(changed))


def install(mutant: Mutant) -> Reached:
    """Have this process import the mutant's module; returns the count of its changed statement.

    The module must not be imported yet.
    """
    reached = Reached()
    setattr(builtins, MARK, reached)
    file = mutant.place.partition(":")[0]
    tree = marked(mutant.source, mutant.line, mutant.column)
    _use({mutant.module: _Changed.of(file, tree)})
    return reached


def install_counts() -> list[int]:
    """Have this process count what `sites` names; returns the counts by their numbers."""
    changed, end = counting_modules()
    counts = [0] * end
    setattr(builtins, COUNTS, counts)
    setattr(builtins, WATCH, watching(counts))
    _use(changed)
    return counts


@cache
def counting_modules() -> tuple[dict[str, _Changed], int]:
    """Every module in which mutants are made, with its counts, and the number of these.

    Statements come first, then mutants.
    """
    modules = [Module.read(file) for file in files()]
    start = sum(number_of_statements(module.tree) for module in modules)
    of_file: dict[str, list[tuple[int, Mutant]]] = {}
    for number, mutant in enumerate(mutants().values(), start):
        of_file.setdefault(mutant.place.partition(":")[0], []).append((number, mutant))
    changed: dict[str, _Changed] = {}
    first = 0
    for module in modules:
        watch(module, of_file.get(module.file, ()))
        first = counted(module.tree, first)
        changed[module.name] = _Changed.of(module.file, module.tree)
    return changed, start + len(mutants())
