"""One dictionary per kind of plug-in; a plug-in is an object in a file of its package.

A directory *is* the list: `Registry.discover` imports every module of the kind's package in the
order of their names, and each module adds what it defines. Files from outside the tree
(`--load FILE.py`) and entry points (`ddlsim.strategies`, `ddlsim.workloads`, ...) add in just the
same way.
"""

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from weakref import WeakSet

from ddlsim.files import TEXT_MOST, is_special, unfit
from ddlsim.fitting import Told, unfit_name
from ddlsim.problems import BadInputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
LOADED: Final = "ddlsim_loaded_"
"""What the name of a module begins with that `load_file` has run."""


class UnknownPluginError(BadInputError):
    """Raised for a name that no plug-in of the kind has; the message lists similar names."""


class BadPluginError(BadInputError):
    """Raised for a plug-in file that cannot be used; the message says which and why."""


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownPluginError:
    """The error for a name that none of the known plug-ins has: the nearest ones, else all."""
    plain = {one.casefold(): one for one in known}
    near = [plain[one] for one in get_close_matches(name.casefold(), plain, 3, 0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(plain.values())}"
    return UnknownPluginError(f"no {kind} is called {name!r}; {hint}")


def as_it_is(item: T) -> T:
    """A plug-in of which nothing is guarded."""
    return item


def fits(_name: str, _item: object) -> Told:
    """What is wrong with a plug-in of which nothing is asked."""
    return None


class Registry(Generic[T]):
    """The plug-ins of one kind, by name."""

    def __init__(
        self,
        kind: str,
        package: str,
        points: str = "",
        unfit: Callable[[str, T], Told] = fits,
        guarded: Callable[[T], T] = as_it_is,
    ) -> None:
        """`points` names the group of entry points; without it the kind does.

        `unfit` says what is wrong with a plug-in, by its name; None if it can be used. `guarded`
        gives what is added instead of it: the same, but a wrong result is an error that names it.
        Our own, as `discover` imports them, are not asked at each start of a process: a test does
        that.
        """
        self.kind = kind
        self._package = package
        self._unfit, self._guarded = unfit, guarded
        self._points = points or (f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s")
        self._items: dict[str, T] = {}
        self._discovered = self._imports_ours = False
        REGISTRIES.add(self)

    def add(self, name: str, item: T) -> T:
        """Add a plug-in under its name; a second one of the same name, or a bad one, is refused.

        Returns what was added, which guards its results.
        """
        told = None if self._imports_ours else self.unfit(name, item)
        if told is not None:
            raise BadPluginError(f"{self.kind} {name!r}: {told}")
        if name in self._items:
            raise BadPluginError(f"two {self.kind} plug-ins are called {name!r}; rename yours")
        self._items[name] = item if self._imports_ours else self._guarded(item)
        return self._items[name]

    def unfit(self, name: str, item: T) -> Told:
        """What is wrong with a plug-in and its name; None if it can be used."""
        return unfit_name(name) or self._unfit(name, item)

    def leave_out(self, names: Iterable[str]) -> None:
        """Forget plug-ins of these names."""
        for name in names:
            self._items.pop(name, None)

    def added(self) -> set[str]:
        """The names added so far; nothing is imported to find more."""
        return set(self._items)

    def has_added(self, name: str) -> bool:
        """Whether a plug-in of this name was added so far; nothing is imported to find it."""
        return name in self._items

    def get(self, name: str) -> T:
        """The plug-in of this name; `UnknownPluginError` names the nearest ones otherwise."""
        self.discover()
        if name not in self._items:
            raise unknown(self.kind, name, self)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        self.discover()
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        self.discover()
        return iter(sorted(self._items))

    def items(self) -> list[tuple[str, T]]:
        """Every plug-in with its name, in the order of the names."""
        self.discover()
        return sorted(self._items.items())

    def discover(self) -> None:
        """Import the modules of the kind's package, then its entry points; once."""
        if self._discovered:
            return
        self._discovered = True
        from importlib.metadata import entry_points  # it brings a parser of mails with it

        package = importlib.import_module(self._package)
        self._imports_ours = True
        try:
            for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
                importlib.import_module(f"{self._package}.{module}")
        finally:
            self._imports_ours = False
        group = f"ddlsim.{self._points}"
        for point in sorted(entry_points(group=group), key=lambda p: p.name):
            try:
                point.load()
            except (Exception, SystemExit) as error:
                self._discovered = False  # else what asks next would find less, in silence
                where = f"entry point {point.name!r} of {group}{_line_in(_module(point), error)}"
                what = f"{where}: {_failure(error)}; mend or remove the package that has it"
                raise BadPluginError(what) from error


REGISTRIES: Final[WeakSet[Registry[Any]]] = WeakSet()
"""Every registry."""


def load_file(path: str) -> None:
    """Run a plug-in file from outside the tree; what it registers is then known by name."""
    file = Path(path)
    if is_special(file) or (file.is_file() and unfit(file, TEXT_MOST) is not None):
        raise BadPluginError(f"{path}: {unfit(file, TEXT_MOST)}")
    if not file.is_file():
        raise BadPluginError(f"{path}: no such plug-in file; `ddlsim new` writes one")
    name = f"{LOADED}{file.stem}"
    while name in sys.modules:
        if Path(sys.modules[name].__file__ or "").resolve() == file.resolve():
            return
        name += "_"  # another file of this name, in another folder
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadPluginError(f"{path}: not a Python file; give a file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    for registry in tuple(REGISTRIES):
        registry.discover()  # so that a name that is taken is refused here
    before = [(registry, registry.added()) for registry in REGISTRIES]
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        for registry in tuple(REGISTRIES):
            registry.discover()  # those of modules that the file has imported first
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        for registry, names in before:
            registry.leave_out(registry.added() - names)
        raise BadPluginError(f"{path}{_line_in(name, error)}: {_failure(error)}") from error


def _module(point: "EntryPoint") -> str:
    return point.value.partition(":")[0].strip()


def _failure(error: BaseException) -> str:
    """What went wrong when a plug-in file was run."""
    if isinstance(error, SystemExit):  # else the command would end as the file says, nothing run
        what = f"it ends the program when it is loaded (exit {error.code!r})"
        return f"{what}; a plug-in only registers"
    return f"{error}" if isinstance(error, BadInputError) else f"{type(error).__name__}: {error}"


def _line_in(module: str, error: BaseException) -> str:
    """The line of a module at which an error arose, in words; nothing where it did not run yet."""
    line = 0
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == module:
            line = number
    return f", line {line}" if line else ""


def place_in_plugins(error: BaseException) -> str:
    """Where in a plug-in file an error arose: ` (mine.py, line 7)`, or nothing where it did not."""
    found = ""
    one: BaseException | None = error
    while one is not None:
        for frame, line in traceback.walk_tb(one.__traceback__):
            if frame.f_globals.get("__name__", "").startswith(LOADED):
                found = f" ({Path(frame.f_code.co_filename).name}, line {line})"
        one = one.__cause__
    return found
