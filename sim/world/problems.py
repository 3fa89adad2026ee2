"""What is wrong with a scenario, in one line: file, line, key and remedy."""

import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

import msgspec

from sim.world.positions import Path, Positions, show_path


class ScenarioError(ValueError):
    """A scenario that cannot be run; the message is one line."""


class Origin:
    """Where a scenario came from: each key's line in the file, or the override that set it."""

    def __init__(self, name: str, text: str, overridden: Iterable[Path] = ()) -> None:
        self.name = name
        self._positions = Positions(text)
        self._overridden = list(overridden)

    def at(self, path: Path) -> str:
        """`smoke.toml:12: network.loss`, or `smoke.toml: --set network.loss`."""
        if any(path[: len(own)] == own for own in self._overridden):
            return f"{self.name}: --set {show_path(path)}"
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
        if any(path[: len(own)] == own for own in self._overridden):
            return self.error(path, what)
        return ScenarioError(f"{self.name}:{line}: {show_path(path)}: {what}")

    def error(self, path: Path, what: str) -> ScenarioError:
        return ScenarioError(f"{self.at(path)}: {what}")


def closest(name: str, known: Iterable[str]) -> list[str]:
    """The known names that look like one that is not; capitals do not count."""
    plain = {one.casefold(): one for one in known}
    return [plain[one] for one in get_close_matches(name.casefold(), plain, n=3, cutoff=0.6)]


def near(name: str, known: Iterable[str]) -> str:
    """A remedy for a name that is not known."""
    choices = sorted(known)
    found = closest(name, choices)
    if found:
        return f"did you mean {' or '.join(found)}?"
    return f"known: {', '.join(choices)}" if choices else "there are none"


def few(name: str, known: Iterable[str], where: str) -> str:
    """The same where there are too many to tell: the near ones, or where all of them are."""
    found = closest(name, known)
    return f"did you mean {' or '.join(found)}?" if found else f"see {where}"


_UNITS: Final = ("_ms", "_us", "_s", "_sec", "_seconds", "_millis", "_ns", "_ppm")


def unknown_key(name: str, known: Iterable[str]) -> str:
    """What to say to a key that does not exist here: a missing or wrong unit is told as such."""
    choices = sorted(known)
    stem = name
    for unit in _UNITS:
        stem = stem.removesuffix(unit)
    for unit in ("_ms", "_ppm"):
        if stem + unit in choices and name != stem + unit:
            return f"unknown key; did you mean {stem}{unit}?"
    return f"unknown key; {near(name, choices)}"


_WORDS: Final = {
    "int": "an integer",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "datetime": "a date and time",
    "date": "a date",
    "time": "a time",
}
_NULL_OF: Final = re.compile(r" \| null|null \| ")
_PATH: Final = re.compile(r" - at `\$((?:\.[A-Za-z0-9_]+|\[\d+\]|\[\.\.\.\])*)`$")
_STEP: Final = re.compile(r"\.([A-Za-z0-9_]+)|\[(\d+)\]")


def convert(data: Any, kind: Any, origin: Origin, prefix: Path = ()) -> Any:
    """Data as a record of this kind; what does not fit is told with its path below `prefix`."""
    if is_dataclass(kind):
        known = fields_of(kind)
        for name in data:
            if name not in known:
                raise origin.error((*prefix, name), unknown_key(name, known))
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise _told(prefix, str(error), kind, data, origin) from None


def _split(message: str) -> tuple[Path, str]:
    match = _PATH.search(message)
    if match is None:
        return (), message
    steps = _STEP.findall(match.group(1))
    path = tuple(int(index) if index else name for name, index in steps)
    return path, message[: match.start()]


def _told(prefix: Path, message: str, kind: Any, data: Any, origin: Origin) -> ScenarioError:
    """msgspec's words in ours."""
    path, what = _split(message)
    full, value = prefix + path, _at(data, path)
    if found := re.fullmatch(r"Object contains unknown field `(.*)`", what):
        name = found.group(1)
        return origin.error((*full, name), unknown_key(name, _keys(kind, path, value)))
    if found := re.fullmatch(r"Object missing required field `(.*)`", what):
        return origin.error(full, f"{found.group(1)} is missing")
    if found := re.fullmatch(r"Invalid value '(.*)'", what):
        return origin.error(full, f"unknown {full[-1]} {found.group(1)!r}; {_tags(kind, path)}")
    if found := re.fullmatch(r"Invalid enum value (.*)", what):
        return origin.error(full, f"unknown value {found.group(1)}; {_choices(kind, path)}")
    if found := re.fullmatch(r"Expected `(.*)`, got `(.*)`", what):
        return origin.error(full, f"expected {_words(found.group(1))}, not {_shown(value, full)}")
    if found := re.fullmatch(r"Expected `(.*)` (<=|>=|<|>) (\S+)", what):
        bound = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
        limit = found.group(3).removesuffix(".0")
        return origin.error(full, f"must be {bound[found.group(2)]} {limit}, not {_shown(value)}")
    if found := re.fullmatch(r"Expected `array` of length (\d+)(?:, got .*)?", what):
        return origin.error(full, f"expected {found.group(1)} entries, not {len(value)}")
    if re.fullmatch(r"Expected `(.*)` of length >= 1", what):
        return origin.error(full, "must not be empty")
    if re.fullmatch(r"Expected `str` matching regex .*", what):
        return origin.error(full, f"{value!r} is no name; take letters, digits, _ and -")
    return origin.field_error(full, what)


def _shown(value: Any, path: Path = ()) -> str:
    """A value for people; of a whole table also how many brackets it takes."""
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


def _words(kinds: str) -> str:
    return " or ".join(_WORDS.get(kind, kind) for kind in _NULL_OF.sub("", kinds).split(" | "))


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data


# --- what a record's type says: its keys, tags and choices ----------------------------------------


def _type_at(kind: Any, path: Path) -> list[Any]:
    """The types that a path below this type may have."""
    kinds = _parts(kind)
    for part in path:
        inner = []
        for each in kinds:
            if isinstance(part, int):
                inner += [arg for arg in get_args(each)[:1] if get_origin(each) in (list, tuple)]
            elif hints := fields_of(each):
                inner += [hints[part]] if part in hints else []
        kinds = [one for each in inner for one in _parts(each)]
    return kinds


def _parts(kind: Any) -> list[Any]:
    """The members of a union, without what annotates them."""
    if get_origin(kind) is Annotated:
        return _parts(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return [part for each in get_args(kind) for part in _parts(each)]
    return [kind]


def fields_of(kind: Any) -> dict[str, Any]:
    """The keys of a record as a file writes them, with their types."""
    if not isinstance(kind, type):
        return {}
    hints = get_type_hints(kind, include_extras=True)
    if issubclass(kind, msgspec.Struct):
        written = {field.encode_name: hints[field.name] for field in msgspec.structs.fields(kind)}
        tag = kind.__struct_config__.tag_field
        return {**written, tag: str} if tag else written
    if is_dataclass(kind):
        return {field.name: hints[field.name] for field in fields(kind)}
    return {}


def _keys(kind: Any, path: Path, value: Any) -> list[str]:
    """The keys that the table at a path may have; where it has a tag, those of its own record."""
    kinds = [each for each in _type_at(kind, path) if fields_of(each)]
    own = [each for each in kinds if (tag := _tag_of(each)) and value.get(tag[0]) == tag[1]]
    return [key for each in own or kinds for key in fields_of(each)]


def _tag_of(kind: Any) -> tuple[str, Any] | None:
    config = getattr(kind, "__struct_config__", None)
    return (config.tag_field, config.tag) if config is not None and config.tag_field else None


def _tags(kind: Any, path: Path) -> str:
    tags = [_tag_of(each) for each in _type_at(kind, path[:-1])]
    return f"known: {', '.join(sorted(tag[1] for tag in tags if tag))}"


def _choices(kind: Any, path: Path) -> str:
    choices = [str(arg) for each in _type_at(kind, path) for arg in get_args(each)]
    return f"known: {', '.join(choices)}"
