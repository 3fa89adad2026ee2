"""Whether what a plug-in gives can stand where the program uses it: names, types, arguments."""

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import fields, replace
from functools import wraps
from numbers import Number
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    NewType,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

OURS: Final = "ddlsim."
"""What the names of our own modules begin with."""
Told = str | None
"""What is wrong, in a clause; None if nothing is."""
D = TypeVar("D")


GUARDED: Final = "ddlsim_guarded"
"""The attribute of a rule whose results are looked at."""


def unfit_name(name: object) -> Told:
    """What is wrong with the name of a plug-in."""
    if not isinstance(name, str):
        return f"its name is {name!r}; give a text in quotes"
    if not name.strip() or not name.isprintable():
        return f"its name is {name!r}; give one of printable characters"
    return None


def unfit_texts(one: object, *attributes: str) -> Told:
    """Which of these attributes is missing, or no text."""
    for attribute in attributes:
        value = getattr(one, attribute, None)
        if not isinstance(value, str):
            told = "has no" if value is None else f"has {value!r} as its"
            return f"it {told} `{attribute}`; give a text"
    return None


def unfit_tuple(one: object, attribute: str, known: tuple[str, ...] = ()) -> Told:
    """Whether an attribute is no tuple of texts, or has one that is not known."""
    value = getattr(one, attribute, None)
    if not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        return f"`{attribute}` is {value!r}; give a tuple of texts, as in ('a',)"
    for each in value:
        if known and each not in known:
            return f"`{attribute}` has {each!r}; known: {', '.join(known)}"
    return None


def unfit_keys(kind: type) -> Told:
    """Whether a field of a class, a key of its table in a scenario, has a type no key can have."""
    if kind.__module__.startswith(OURS):
        return None
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError) as error:
        return f"the type of a field cannot be read ({error}); import or mend it"
    for name, hint in hints.items():
        if get_origin(hint) is ClassVar:
            continue
        try:
            msgspec.json.schema(hint)
        except (TypeError, ValueError):
            return f"no key can be of the type of its field `{name}`; take int, float, str, ..."
    return None


def unfit_method(kind: object, method: str, *arguments: str) -> Told:
    """Whether an object lacks a method, or the method cannot be called with these arguments."""
    rule = getattr(kind, method, None)
    if not callable(rule) or getattr(rule, "__isabstractmethod__", False):
        return f"it has no method `{method}`; give it one"
    given = ("self", *arguments) if inspect.isclass(kind) else arguments
    return _not_called_with(rule, method, given)


def _not_called_with(rule: Callable[..., object], name: str, arguments: tuple[Any, ...]) -> Told:
    try:
        signature = inspect.signature(rule)
    except (TypeError, ValueError):  # some functions that are not written in Python have none
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        given = ", ".join(map(_word, arguments))
        return f"`{name}` takes {signature}, but is called with ({given}); change its arguments"
    return None


def _word(argument: Any) -> str:
    return argument if isinstance(argument, str) else getattr(argument, "__name__", str(argument))


# --- rules of a design ----------------------------------------------------------------------------


def unfit_rules(design: Any) -> Told:
    """What is wrong with the fields of a design's record."""
    for field in fields(design):
        told = unfit_rule(type(design), field.name, getattr(design, field.name))
        if told is not None:
            return told
    return None


def unfit_rule(record: type, name: str, rule: object) -> Told:
    """Whether a rule cannot stand in a field of a record: a function where one is called."""
    wanted, may_be_none = _type_of(record, name)
    if rule is None and may_be_none:
        return None
    arguments, result = _called_with(wanted)
    if arguments is None:
        plain = get_origin(wanted) or wanted
        return None if isinstance(rule, plain) else f"`{name}` is {rule!r}, not {_word(plain)}"
    if not callable(rule):
        return f"`{name}` is {rule!r}; give a function (ddlsim list rules)"
    if inspect.iscoroutinefunction(rule) and get_origin(result) is not Coroutine:
        return f"`{name}` is async, and nothing awaits it; leave `async` out"
    return _not_called_with(rule, name, arguments) if arguments else None


def _type_of(record: type, name: str) -> tuple[Any, bool]:
    """The type of a record's field, and whether None may stand there too."""
    hint = next(field.type for field in fields(record) if field.name == name)
    choices = _choices(hint)
    return next(choice for choice in choices if choice is not NoneType), NoneType in choices


def _choices(hint: Any) -> tuple[Any, ...]:
    found = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
    return tuple(NoneType if one is None else one for one in found)


def _called_with(wanted: Any) -> tuple[tuple[Any, ...] | None, Any]:
    """The arguments of a function's type and its result; None of what is no function's type."""
    if get_args(wanted) and isinstance(get_args(wanted)[0], list):
        arguments, result = get_args(wanted)
        return tuple(arguments), result
    if not getattr(wanted, "_is_protocol", False):
        return None, None
    return (), get_type_hints(wanted.__call__)["return"]


# --- what rules give ------------------------------------------------------------------------------


def guarded_rules(design: D) -> D:
    """A design's record, its rules from outside of the program as `guarded_rule` gives them."""
    record: Any = design
    given = {field.name: getattr(record, field.name) for field in fields(record)}
    guarded = {name: guarded_rule(type(record), name, rule) for name, rule in given.items()}
    new = {name: rule for name, rule in guarded.items() if rule is not given[name]}
    return cast(D, replace(record, **new)) if new else design


def guarded_rule(record: type, name: str, rule: Any) -> Any:
    """The rule of a field; one from outside of the program raises `TypeError` at a wrong result.

    Without that a rule that has no `return` leads to an error far from it, or to none: a judgement
    of None is "no".
    """
    if not callable(rule) or isinstance(rule, type) or hasattr(rule, GUARDED):
        return rule
    arguments, result = _called_with(_type_of(record, name)[0])
    if arguments is None or getattr(rule, "__module__", OURS).startswith(OURS):
        return rule
    guard = _guarded_flow if get_origin(result) is Coroutine else _guarded_function
    guarded = guard(rule, name, result)
    setattr(guarded, GUARDED, True)
    return guarded


def _guarded_function(rule: Callable[..., Any], field: str, result: Any) -> Callable[..., Any]:
    @wraps(rule)
    def guarded(*given: Any, **named: Any) -> Any:
        return _fitting(rule, field, result, rule(*given, **named))

    return guarded


def _guarded_flow(rule: Callable[..., Any], field: str, result: Any) -> Callable[..., Any]:
    @wraps(rule)
    async def guarded(*given: Any, **named: Any) -> Any:
        flow = rule(*given, **named)
        if not inspect.isawaitable(flow):
            raise TypeError(_wrong(rule, field, flow, "and it is awaited; write `async def`"))
        return _fitting(rule, field, get_args(result)[2], await flow)

    return guarded


def _fitting(rule: Callable[..., Any], field: str, result: Any, found: Any) -> Any:
    """What a rule gave; raises `TypeError` where it is not of the type of a result."""
    choices = _choices(result)
    if choices == (NoneType,) or any(_is_of(found, choice) for choice in choices):
        return found
    words = " or ".join("None" if one is NoneType else _word(one) for one in choices)
    raise TypeError(_wrong(rule, field, found, f"not {words}; return one in every case"))


def _is_of(found: Any, choice: Any) -> bool:
    """Whether a value is of a type; any number is an int here, and any value but None a bool."""
    if found is None or choice is NoneType:
        return found is None and choice is NoneType
    plain = choice.__supertype__ if isinstance(choice, NewType) else get_origin(choice) or choice
    if not isinstance(plain, type) or plain is bool or getattr(plain, "_is_protocol", False):
        return True
    return isinstance(found, Number if plain is int else plain)


def _wrong(rule: Callable[..., Any], field: str, found: object, what: str) -> str:
    code = getattr(rule, "__code__", None)
    where = "" if code is None else f" ({Path(code.co_filename).name}, line {code.co_firstlineno})"
    return f"rule {_word(rule)}{where} gave `{field}` {found!r:.80}, {what}"
