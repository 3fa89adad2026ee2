"""Errors of a scenario, each in one line: file, line, key, what is wrong, and the remedy."""

import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import inspect

from ddlsim.problems import BadInputError
from ddlsim.scenario.positions import Path, Positions, show_path


class ScenarioError(BadInputError):
    """A scenario that cannot be run; the message is one line."""


class Origin:
    """Where a scenario came from: each key's line in the file, or the override that set it.

    `flags` are the flags of their own, with their values, that set a key in the place of `--set`.
    """

    def __init__(
        self,
        name: str,
        text: str,
        overridden: Iterable[Path] = (),
        flags: Mapping[Path, str] = MappingProxyType({}),
    ) -> None:
        self.name = name
        self._text = text
        self._overridden = [*overridden, *flags]
        self._flags = flags

    @cached_property
    def _positions(self) -> Positions:
        """Found when the first line is asked for: most scenarios are right and need none."""
        return Positions(self._text)

    def is_overridden(self, path: Path) -> bool:
        """Whether a flag sets the key, whatever the file says."""
        return any(path[: len(own)] == own for own in self._overridden)

    def at(self, path: Path) -> str:
        """`smoke.toml:12: network.loss`, `smoke.toml: --set network.loss`, `--migration x.sql`."""
        if path in self._flags:
            return self._flags[path]
        if self.is_overridden(path):
            return f"{self.name}: --set {show_path(path)}"
        below = [own for own in self._overridden if own[: len(path)] == path]
        if path and below and path not in self._positions.keys:
            return f"{self.name}: --set {show_path(below[0])}: {show_path(path)}"
        place = f"{self.name}:{self._positions.line(path)}"
        return f"{place}: {show_path(path)}" if path else place

    def line(self, path: Path) -> int:
        return self._positions.line(path)

    def text_line(self, path: Path) -> int:
        """The line on which a string's own text begins."""
        return self._positions.text_line(path)

    def field_error(self, path: Path, what: str) -> ScenarioError:
        """An error about a table, of which `field: what` tells the key."""
        key, colon, rest = what.partition(": ")
        is_key = bool(colon) and key.isidentifier()
        return self.error((*path, key), rest) if is_key else self.error(path, what)

    def error_at(self, line: int, path: Path, what: str) -> ScenarioError:
        """An error on a line of its own, inside a text of several lines."""
        if self.is_overridden(path):
            return self.error(path, what)
        return ScenarioError(f"{self.name}:{line}: {show_path(path)}: {what}")

    def file_error(self, path: Path, file: str, line: int, what: str) -> ScenarioError:
        """An error on a line of a file that a key names; a flag names the file itself."""
        if path in self._flags:
            return ScenarioError(f"{self._flags[path]}:{line}: {what}")
        return self.error(path, f"{file}:{line}: {what}")

    def error(self, path: Path, what: str) -> ScenarioError:
        return ScenarioError(f"{self.at(path)}: {what}")


def closest(name: str, known: Iterable[str]) -> list[str]:
    """The known names most similar to an unknown one; case does not count."""
    plain = {one.casefold(): one for one in known}
    return [plain[one] for one in get_close_matches(name.casefold(), plain, n=3, cutoff=0.6)]


def near(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown name: similar names, or all known ones."""
    choices = sorted(known)
    found = closest(name, choices)
    if found:
        return f"did you mean {' or '.join(found)}?"
    return f"known: {', '.join(choices)}" if choices else "there are none"


def few(name: str, known: Iterable[str], where: str) -> str:
    """What to do about an unknown name of a long list: similar names, or where all are listed."""
    found = closest(name, known)
    return f"did you mean {' or '.join(found)}?" if found else f"see {where}"


_UNITS: Final = ("_ms", "_us", "_s", "_sec", "_seconds", "_millis", "_ns", "_ppm")


_LISTED: Final = {"protocol": "ddlsim list settings"}
"""What lists the keys of a table that has many."""


def unknown_key(name: str, known: Iterable[str], table: Path = ()) -> str:
    """The message for an unknown key of a table; names the right unit if only the unit is wrong.

    A key with a unit is like keys with one alone.
    """
    choices = sorted(known)
    stem = name
    for unit in _UNITS:
        stem = stem.removesuffix(unit)
    for unit in ("_ms", "_ppm"):
        if stem + unit in choices and name != stem + unit:
            return f"unknown key; did you mean {stem}{unit}?"
    if not table or table[0] not in _LISTED:
        return f"unknown key; {near(name, choices)}"
    if name != stem:
        choices = [one for one in choices if one.endswith(_UNITS)]
    return f"unknown key; {few(name, choices, _LISTED[str(table[0])])}"


def convert(data: Any, kind: Any, origin: Origin, prefix: Path = ()) -> Any:
    """Data as a record of this kind; raises `ScenarioError` with the path below `prefix`."""
    try:
        made = msgspec.convert(data, kind)
        if not is_dataclass(kind) or data.keys() <= {*fields_of(kind)}:
            return made  # msgspec ignores keys that a dataclass does not have
        said = ""
    except msgspec.ValidationError as error:
        said = str(error)
    raise origin.field_error(*(misfit(data, inspect.type_info(kind), prefix) or (prefix, said)))


_type_info: Final = cache(inspect.type_info)


def fields_of(kind: Any) -> list[str]:
    """The keys of a record as a file writes them."""
    record = _type_info(kind)
    assert isinstance(record, inspect.StructType | inspect.DataclassType), kind
    return [field.encode_name for field in record.fields]


# --- where data does not fit a type --------------------------------------------------------------

Misfit = tuple[Path, str]
_Table = inspect.StructType | inspect.DataclassType
_LIKE: Final[tuple[tuple[type[inspect.Type], type, str], ...]] = (
    (inspect.BoolType, bool, "true or false"),
    (inspect.IntType, int, "an integer"),
    (inspect.FloatType, float, "a number"),
    (inspect.FloatType, int, ""),
    (inspect.StrType, str, "a string"),
    (inspect.ListType, list, "a list"),
    (inspect.VarTupleType, list, "a list"),
    (inspect.TupleType, list, "a list"),
    (inspect.DictType, dict, "a table"),
    (inspect.StructType, dict, "a table"),
    (inspect.DataclassType, dict, "a table"),
    (inspect.NoneType, type(None), ""),
    (inspect.AnyType, object, "anything"),
)
"""The types of fields, what TOML and JSON give for them, and their names in sentences."""


def misfit(value: Any, kind: inspect.Type, path: Path) -> Misfit | None:
    """The first place at or below a path where a value does not fit a type, and what is wrong."""
    choices = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    kinds = [_plain(one) for one in choices]
    like = [one for one in kinds if _is_like(value, one)]
    if not like:
        said = dict.fromkeys(filter(None, map(_said, kinds)))
        return path, f"expected {' or '.join(said)}, not {_shown(value, path)}"
    if any(isinstance(one, inspect.AnyType) for one in like):
        return None
    if isinstance(value, dict):
        return _in_table(value, like, path)
    if isinstance(value, list):
        return _in_list(value, like[0], path)
    what = _bound(value, like[0])
    return None if what is None else (path, what)


def _plain(kind: inspect.Type) -> inspect.Type:
    """A type without its description."""
    return kind.type if isinstance(kind, inspect.Metadata) else kind


def _is_like(value: Any, kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.LiteralType):
        return type(value) in map(type, kind.values)
    return any(
        isinstance(kind, each) and (type(value) is python or python is object)
        for each, python, _ in _LIKE
    )


def _said(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(map(repr, kind.values))
    return next((said for each, _, said in _LIKE if isinstance(kind, each)), "")


def _in_table(value: dict[str, Any], kinds: list[inspect.Type], path: Path) -> Misfit | None:
    kind = kinds[0]
    if isinstance(kind, inspect.DictType):
        inner = (misfit(each, kind.value_type, (*path, key)) for key, each in value.items())
        return next(filter(None, inner), None)
    tables = [one for one in kinds if isinstance(one, _Table)]
    tag = getattr(kind, "tag_field", None)
    if tag is not None:
        if tag not in value:
            return path, f"{tag} is missing"
        if not isinstance(value[tag], str):
            place = (*path, tag)
            return place, f"expected a string, not {_shown(value[tag], place)}"
        known = {one.tag: one for one in tables if isinstance(one, inspect.StructType)}
        if value[tag] not in known:
            names = ", ".join(sorted(map(str, known)))
            return (*path, tag), f"unknown {tag} {value[tag]!r}; known: {names}"
        tables = [known[value[tag]]]
    return _in_record(value, tables[0], path, tag)


def _in_record(value: dict[str, Any], kind: _Table, path: Path, tag: str | None) -> Misfit | None:
    fields = {field.encode_name: field for field in kind.fields}
    for key, each in value.items():
        if key == tag:
            continue
        if key not in fields:
            known = [*fields, *([tag] if tag else [])]
            return (*path, key), unknown_key(key, known, path)
        if found := misfit(each, fields[key].type, (*path, key)):
            return found
    for name, field in fields.items():
        if field.required and name not in value:
            return path, f"{name} is missing"
    try:
        msgspec.convert(value, kind.cls)
    except msgspec.ValidationError as error:  # of the record's own __post_init__
        return path, str(error.__cause__)
    return None


def _in_list(value: list[Any], kind: inspect.Type, path: Path) -> Misfit | None:
    assert isinstance(kind, inspect.ListType | inspect.VarTupleType | inspect.TupleType), kind
    if isinstance(kind, inspect.TupleType):
        if len(value) != len(kind.item_types):
            return path, f"expected {len(kind.item_types)} entries, not {len(value)}"
        kinds = kind.item_types
    else:
        if len(value) < (kind.min_length or 0):
            return path, "must not be empty"
        kinds = (kind.item_type,) * len(value)
    inner = (misfit(each, kinds[at], (*path, at)) for at, each in enumerate(value))
    return next(filter(None, inner), None)


def _bound(value: Any, kind: inspect.Type) -> str | None:
    """What is wrong with a number or text of the right type; None if nothing."""
    if isinstance(kind, inspect.LiteralType) and value not in kind.values:
        return f"unknown value {value!r}; known: {', '.join(map(str, kind.values))}"
    if isinstance(kind, inspect.StrType):
        if len(value) < (kind.min_length or 0):
            return "must not be empty"
        if kind.pattern is not None and not re.search(kind.pattern, value):
            return f"invalid name {value!r}; use letters, digits, _, - and dots"
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        bounds = (
            (kind.ge, operator.ge, "at least"), (kind.gt, operator.gt, "more than"),
            (kind.le, operator.le, "at most"), (kind.lt, operator.lt, "less than"),
        )  # fmt: skip
        for limit, holds, said in bounds:
            if limit is not None and not holds(value, limit):
                return f"must be {said} {limit:.15g}, not {_shown(value)}"
    return None


def _shown(value: Any, path: Path = ()) -> str:
    """A value as messages show it; for a whole table also how to write it."""
    if len(path) == 1 and isinstance(value, dict):
        return f"a table; write [[{path[0]}]], one for each"
    if len(path) == 1 and isinstance(value, list):
        return f"a list; write [{path[0]}]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else str(value)
