"""The rules that a scenario may put into each field of a design's record, by name.

Each data plane has a record of its own. The rules of a field are its default, those of all known
designs, those of mutants that are defined in the protocol's own modules, and those in `ALSO` and
`ALSO_OF_LAYERS`, which only scenarios choose. A rule of another field, a helper and a misspelt name
are refused before the run, with a list of the rules.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from ddlsim.layer.design import NUMBERS as NUMBERS_OF_LAYERS
from ddlsim.layer.rules import fences, locks, options, plans, publishing, reading, waiting
from ddlsim.model.records import Record
from ddlsim.model.settings import Setting
from ddlsim.mutants.base import MUTANTS
from ddlsim.protocol.design import (
    agreed_installs,
    as_shipped,
    border_rules,
    closing,
    failure_rules,
    flows,
    index_rules,
    lag_policies,
    mandatory_columns,
    quirk_rules,
    schema_rules,
    time_rules,
)
from ddlsim.protocol.schema import renaming
from ddlsim.protocol.strategy import NUMBERS
from ddlsim.protocol.transaction import commit_check
from ddlsim.scenario.problems import near
from ddlsim.strategies.base import DESIGNS
from ddlsim.units import FOREVER_MS

MODULES: Final = (
    schema_rules,
    commit_check,
    time_rules,
    failure_rules,
    flows,
    index_rules,
    as_shipped,
    closing,
    lag_policies,
    border_rules,
    agreed_installs,
    mandatory_columns,
    quirk_rules,
    renaming,
    options,
)
"""The modules that define the rules of the protocol, and constants that stand for rules."""
_CLAUSES: Final = re.compile(r"\[((?:98|110)\.[^\]]+)\]")
_OF_THE_PROTOCOL: Final = frozenset(module.__name__ for module in MODULES)
IGNITE: Final = "ignite"
"""The plane of the IEPs: replicas of partitions under leases, and a meta storage."""
FDB: Final = "fdb"
"""The plane of the thread: an ordered, optimistic key-value store with tables as a layer."""
FIRST: Final = {IGNITE: "iep", FDB: "c1_schema"}
"""By plane, the design whose rules are the defaults."""
NONE: Final = "none"
"""The name of a rule that is left out."""
ALSO: Final[dict[str, tuple[Any, ...]]] = {
    "acknowledge_ts": (time_rules.at_activation,),
    "lease_outdated_ts": (failure_rules.expired_here,),
    "keeps_lease": (failure_rules.promote_another,),
    "in_one_phase": (failure_rules.never_in_one_phase,),
    "check_commit": (border_rules.endpoints_by_id,),
    "resolve_schema": (
        lag_policies.wait_in_time_then_look_up,
        lag_policies.wait_a_while_then_look_up,
    ),
    "commit_schema": (
        closing.schema_at_commit_ts_exact_if_shown,
        closing.schema_at_commit_ts_exact_if_used_later,
        closing.schema_at_commit_ts_at_one_instant,
    ),
    "before_answer": (closing.answer_once_active_everywhere,),
    "drain": (index_rules.at_once,),
    "fills_index": (index_rules.once_registered,),
    "erases_index": (index_rules.once_stopping,),
}
"""Rules that no design and no mutant has, by field."""
ALSO_OF_LAYERS: Final[dict[str, tuple[Any, ...]]] = {
    "admit": (locks.locked_with_the_catalog_of_the_snapshot, locks.unlocked_with_a_fresh_catalog),
    "exclude": (locks.once_unlocked_without_a_queue,),
    "options": (options.CACHED_READ_VERSION, options.CAUSAL_WRITE_RISKY),
    "read_schema": (
        reading.whole_schema_at_snapshot,
        reading.version_key_then_elsewhere,
        reading.metadata_version_wrong_tag,
        reading.by_the_record,
    ),
    "newer_row": (fences.decode_as_used,),
    "token": (fences.as_asked,),
    "plan": (
        plans.straight_to_public,
        plans.without_delete_only,
        plans.without_write_only,
        plans.without_reorganization,
        plans.backfill_too_early,
    ),
    "writes_entries": (plans.another,),
    "publish": (
        publishing.head_and_flag,
        publishing.head_and_half_of_the_copies,
        publishing.head_and_version_keys_but_one,
        publishing.head_and_record,
    ),
    "own_change": (publishing.keep_at_once,),
    "settle": (waiting.leases_end_without_drift, waiting.other_half),
    "before_statement": (waiting.all_pessimistic_undrained, waiting.switch_registered_ahead),
    "background": (
        (waiting.watch_the_flag,),
        (waiting.watch_armed_later,),
        (waiting.follow_the_mode_stale,),
    ),
}
"""The same of layers: what a scenario shows to be wrong."""


class Rule(Record, frozen=True):
    """A rule by name, with its summary; `value` is the function or enum of the record."""

    field: str
    name: str
    value: Any
    default: bool

    @property
    def summary(self) -> str:
        """The first sentence of its docstring; of a record, what it has switched on."""
        value = self.value[0] if isinstance(self.value, tuple) and self.value else self.value
        if not value:
            return "the design has no such rule"
        if callable(value):
            return (inspect.getdoc(value) or "").partition("\n")[0]
        names = getattr(value, "__struct_fields__", None) or [one.name for one in fields(value)]
        on = ", ".join(name.replace("_", " ") for name in names if getattr(value, name) is True)
        return f"Switched on: {on or 'nothing'}."

    @property
    def source(self) -> str:
        """The clauses that its docstring names."""
        doc = inspect.getdoc(self.value) or "" if callable(self.value) else ""
        return ", ".join(clause for found in _CLAUSES.findall(doc) for clause in found.split(", "))


class BadRuleError(ValueError):
    """The record has no such field, or the field has no such rule."""


def planes() -> list[str]:
    """The data planes that have designs."""
    return [plane for plane, first in FIRST.items() if first in DESIGNS]


def fields_of_designs(plane: str = IGNITE) -> list[str]:
    """Every field that a scenario may set, in the order of the plane's record."""
    return [
        field.name
        for field in fields(DESIGNS.get(FIRST[plane]))
        if field.name != "header" and _is_settable(field.name, plane)
    ]


def is_number(field: str, plane: str = IGNITE) -> bool:
    """Whether a field holds a number instead of a rule."""
    return type(_default(field, plane)) is int


def rules_of(field: str, plane: str = IGNITE) -> dict[str, Rule]:
    """The rules of a field by name, its default first; none for a number."""
    found: dict[str, Rule] = {}
    default = _default(field, plane)
    for value in () if is_number(field, plane) else _values(field, plane):
        name = name_of(value)
        if name is not None and name not in found:
            found[name] = Rule(field, name, value, value is default)
    return found


def value_of(field: str, name: Any, plane: str = IGNITE) -> Any:
    """The record's value for a name or a number of a scenario; raises `BadRuleError`."""
    known = fields_of_designs(plane)
    if field not in known:
        raise BadRuleError(f"no such field; {near(field, known)}")
    if is_number(field, plane):
        least, most = number(field, plane).bounds
        if type(name) is not int or not least <= name <= most:
            wanted = number_in_words(field, plane)
            if type(name) is int and name > most:
                wanted = f"a whole number, {least} to {most}"
            raise BadRuleError(f"expected {wanted}, not {name!r}")
        return name
    rules = rules_of(field, plane)
    if not isinstance(name, str) or name not in rules:
        raise BadRuleError(f"no rule of it is called {name!r}; rules: {', '.join(rules)}")
    return rules[name].value


def number_in_words(field: str, plane: str) -> str:
    """Which numbers a field may have."""
    least, most = number(field, plane).bounds
    wanted = f"{least} or more" if most == FOREVER_MS else f"{least} to {most}"
    return f"a whole number, {wanted}"


def number(field: str, plane: str = IGNITE) -> Setting:
    """What a number of a design means, and its bounds."""
    return (NUMBERS_OF_LAYERS if plane == FDB else NUMBERS)[field]


def name_of(value: Any) -> str | None:
    """The name of a rule in scenarios; None if it has none."""
    if value is None:
        return NONE
    if inspect.isfunction(value):
        return None if value.__name__.startswith(("_", "<")) else value.__name__
    if isinstance(value, tuple):
        return " + ".join(name_of(one) or "?" for one in value) or NONE
    for module in MODULES:
        for name, own in vars(module).items():
            if own is value and not name.startswith("_"):
                return name
    return None


def _is_settable(field: str, plane: str) -> bool:
    """Whether a name or a number can stand for a field's values: for rows of flows if some are."""
    return bool(_also(field, plane)) or not isinstance(_default(field, plane), tuple)


def _also(field: str, plane: str) -> tuple[Any, ...]:
    return (ALSO_OF_LAYERS if plane == FDB else ALSO).get(field, ())


def _default(field: str, plane: str) -> Any:
    """The rule of the plane's first design; on the Ignite plane that of the documents."""
    return getattr(DESIGNS.get(FIRST[plane]), field)


def _values(field: str, plane: str) -> Iterator[Any]:
    yield _default(field, plane)
    yield from _also(field, plane)
    for name in DESIGNS:
        one = DESIGNS.get(name)
        if one.header.plane == plane:
            yield getattr(one, field)
    for name in MUTANTS:
        mutant = MUTANTS.get(name)
        value = mutant.fields.get(field) if mutant.plane == plane else None
        if not inspect.isfunction(value) or value.__module__ in _OF_THE_PROTOCOL:
            yield from () if value is None else (value,)
