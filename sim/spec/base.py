"""What a scope is: a machine, its bounds, its rules, and the designs and mutants that change them.

A scope is one file of this package, and the TLA+ module of the same name beside it. A rule has
choices; the first one is that of the design `iep`. Another design or a mutant of a scope is a set
of other choices under the name that the simulator has for it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from ddlsim.fitting import Told
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError
from ddlsim.registry import Registry, unknown

S = TypeVar("S")
"""A state of a machine: a tuple of its variables, hashable."""
Label = tuple[Any, ...]
"""The name of an action and what it is taken with, as nodes."""
BASELINE: Final = "iep"
"""The design that has the first choice of every rule."""


class ScopeError(BadInputError):
    """A scope cannot be set up as asked; the message is one line."""


class Constant(Record, frozen=True):
    """A bound or a duration of a scope, from `least` to `most`; clocks count in ticks."""

    name: str
    text: str
    default: int
    least: int
    most: int

    def read(self, value: object) -> int:
        """A value that was set; `ScopeError` where it is none."""
        if type(value) is int and self.least <= value <= self.most:
            return value
        what = f"a whole number from {self.least} to {self.most}: {self.text}"
        raise ScopeError(f"--set {self.name}={value}: expected {what}")


class Rule(Record, frozen=True):
    """A rule: its clause, and its choices, each with what it says; `iep` has the first one."""

    name: str
    clause: str
    choices: Mapping[str, str]

    @property
    def default(self) -> str:
        """The choice of `iep`."""
        return next(iter(self.choices))

    def read(self, value: object) -> str:
        """A choice that was set; `ScopeError` where it is none."""
        if isinstance(value, str) and value in self.choices:
            return value
        raise ScopeError(f"--set {self.name}={value}: expected one of {', '.join(self.choices)}")


class Variant(Record, frozen=True):
    """A design or a mutant: the choices in which it differs, and the invariants that it breaks.

    `breaks` holds at the default constants; `constants` are those that it takes to see it.
    """

    rules: Mapping[str, str]
    breaks: tuple[str, ...] = ()
    constants: Mapping[str, int] = {}


class Machine(Protocol[S]):
    """A machine with its bounds: where it begins, and what may happen next."""

    def first(self) -> S:
        """The state in which it begins."""

    def steps(self, state: S, /) -> Iterable[tuple[Label, S]]:
        """Every action that may be taken in a state, with the state after it."""

    def broken(self, state: S, /) -> tuple[str, ...]:
        """The judged invariants that a state breaks; no action is taken in such a state."""

    def tests(self, label: Label, after: S, /) -> tuple[str, ...]:
        """The invariants that an action could have broken: what they are about has happened."""

    def words(self, label: Label, before: S, after: S, /) -> str:
        """An action in words."""

    def why(self, invariant: str, state: S, /) -> str:
        """A sentence about a state that breaks an invariant."""

    def shown(self, state: S, /) -> dict[str, Any]:
        """The variables of a state by name, for JSON and for people."""


class Scope(NamedTuple):
    """A machine, what may be chosen of it, and what it is about."""

    name: str
    title: str
    source: str
    constants: tuple[Constant, ...]
    rules: tuple[Rule, ...]
    invariants: tuple[str, ...]
    designs: Mapping[str, Variant]
    mutants: Mapping[str, Variant]
    make: Callable[[Mapping[str, int], Mapping[str, str], Collection[str]], Machine[Any]]
    """The machine of constants and choices that judges some invariants."""
    tla: Path
    """Its TLA+ module, a file of its name."""


class Setup(NamedTuple):
    """A scope with its constants and choices: what is explored."""

    scope: Scope
    design: str
    mutant: str | None
    constants: dict[str, int]
    rules: dict[str, str]

    def machine(self, judged: Collection[str] | None = None) -> Machine[Any]:
        """The machine with these bounds that judges some invariants; None: all of its scope."""
        every = self.scope.invariants
        return self.scope.make(self.constants, self.rules, every if judged is None else judged)


def replaced(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    """The values, another one in a place."""
    return (*values[:place], value, *values[place + 1 :])


def raised(values: tuple[int, ...], place: int, value: int) -> tuple[int, ...]:
    """The values, the one in a place at least so large."""
    return values if values[place] >= value else replaced(values, place, value)


def unfit_scope(name: str, made: object) -> Told:
    """What is wrong with a scope that is added."""
    if not isinstance(made, Scope):
        return f"it is a {type(made).__name__}, not a Scope"
    if BASELINE not in made.designs:
        return f"`designs` lacks {BASELINE!r}, the one with the first choice of every rule"
    if made.tla.name != f"{name}.tla":
        return f"`tla` is {made.tla.name}; a module of TLA+ has the name of its file, {name}.tla"
    if not made.tla.is_file():
        return f"`tla` is {made.tla}, and there is no such file; write the module there"
    return None


SCOPES: Final[Registry[Scope]] = Registry("scope", "ddlsim.spec", unfit=unfit_scope)
"""Every scope, by name."""


def scope(made: Scope) -> Scope:
    """Add a scope."""
    return SCOPES.add(made.name, made)


def set_up(
    scope: Scope,
    design: str = BASELINE,
    mutant: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> Setup:
    """A scope with a design, a mutant, and constants and choices by name over them.

    Raises `UnknownPluginError` for a name that the scope does not know, `ScopeError` for a value
    that it does not take.
    """
    of_scope = f"of scope {scope.name}"
    variants = [_named(scope.designs, f"design {of_scope}", design)]
    if mutant is not None:
        variants.append(_named(scope.mutants, f"mutant {of_scope}", mutant))
    known_constants = {one.name: one for one in scope.constants}
    known_rules = {one.name: one for one in scope.rules}
    constants = {name: one.default for name, one in known_constants.items()}
    rules = {name: one.default for name, one in known_rules.items()}
    for variant in variants:
        constants |= variant.constants
        rules |= variant.rules
    for name, value in (settings or {}).items():
        if name in constants:
            constants[name] = known_constants[name].read(value)
        elif name in rules:
            rules[name] = known_rules[name].read(value)
        else:
            raise unknown(f"constant or rule {of_scope}", name, [*constants, *rules])
    return Setup(scope, design, mutant, constants, rules)


def _named(variants: Mapping[str, Variant], kind: str, name: str) -> Variant:
    if name not in variants:
        raise unknown(kind, name, variants)
    return variants[name]
