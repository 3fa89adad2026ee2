"""I1, the Atomicity Property: at any timestamp all nodes get the same answer.  [98.ap]"""

from collections.abc import Iterator

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.history.events import SchemaResolved, UpdateApplied
from ddlsim.units import as_ms, show


class Atomicity:
    """Every look-up gives what the complete log says; no node learns of an update too late."""

    name = "atomicity"
    invariant = "I1"
    severity: Severity = "safety"
    summary = "every node resolves the schema version that the complete log says is effective"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """I1: wrong answers; then I1': updates applied after an answer that they change."""
        log = case.schemas
        for _, resolved in case.of(SchemaResolved):
            due = log.existing(resolved.object_id, resolved.ts)
            right = due is not None and due.version == resolved.version
            right = right and (due is None or resolved.name in (None, due.name))
            if not right and not case.is_upkeep(resolved.tx):
                yield from _wrong_answer(case, resolved)
        yield from _late_updates(case)


def _wrong_answer(case: Case, resolved: SchemaResolved) -> Iterator[Anomaly]:
    """A resolution at Top against the version with the largest Tu <= Top [98.def.1].

    What was found by a name bears that name then; where nothing else does, see `_misnamed`.
    """
    log = case.schemas
    named = [] if resolved.name is None else log.relations(resolved.name, resolved.ts)
    due = next(iter(named), None)
    if resolved.object_id:
        own = log.existing(resolved.object_id, resolved.ts)
        if resolved.version != (0 if own is None else own.version):
            due = own or due
        else:
            fits = resolved.name is None or own is None or own.name == resolved.name
            if fits or (due is None and not _misnamed(case, resolved)):
                return
    elif due is None:
        return
    yield Anomaly(
        "wrong-version",
        _wrong(case, resolved, due),
        (*log.logged(due), resolved),
        clauses=("98.ap", "98.def.1"),
    )


def _misnamed(case: Case, resolved: SchemaResolved) -> bool:
    """Whether a table was found under a name that it bears at another time only, or another does.

    Later in a transaction a table may be called as it was when it was enlisted, and in a layer by
    an alias. A name that the log never has may only be spelt otherwise there.
    """
    looked_up = resolved.purpose == "enlist" and not case.is_layered
    return looked_up and resolved.name is not None and case.schemas.is_name(resolved.name)


def _wrong(case: Case, resolved: SchemaResolved, due: SchemaVersion | None) -> str:
    what = repr(resolved.name or case.schemas.name(resolved.object_id, resolved.version))
    is_another = due is not None and due.object_id != resolved.object_id
    got = _found(case, resolved.object_id, resolved.version, is_another=is_another)
    truth, since = "nothing", ""
    if due is not None:
        truth = _found(case, due.object_id, due.version, is_another=is_another)
        since = f", active since {show(due.activation_ts)}"
    return (
        f"node {resolved.node}, resolving {what} for {resolved.tx} ({resolved.purpose}) at "
        f"{show(resolved.ts)}, got {got}; by the complete log it was {truth}{since}"
    )


def _found(case: Case, object_id: int, version: int, *, is_another: bool) -> str:
    """A version of an object for people; with its id where two may bear the same name."""
    if not object_id or not version:
        return "nothing"
    id_ = f" (object {object_id})" if is_another else ""
    return f"{case.schemas.describe(object_id, version)}{id_}"


def _late_updates(case: Case) -> Iterator[Anomaly]:
    """I1': a node applies U(Tu) after it resolved a schema for some Top >= Tu.

    A node that restarts applies its log anew: only the first time counts.
    """
    resolved = case.of(SchemaResolved)
    latest: dict[str, SchemaResolved] = {}
    applied_before: dict[tuple[str, int], None] = {}
    at = 0
    for position, applied in case.of(UpdateApplied):
        while at < len(resolved) and resolved[at][0] < position:
            event = resolved[at][1]
            if event.node not in latest or event.ts > latest[event.node].ts:
                latest[event.node] = event
            at += 1
        known = (applied.node, applied.catalog_version)
        first, applied_before[known] = known not in applied_before, None
        late = latest.get(applied.node)
        if first and late is not None and applied.activation_ts <= late.ts:
            yield Anomaly(
                "late-update",
                f"node {applied.node} applied catalog version {applied.catalog_version}, active "
                f"since {show(applied.activation_ts)}, at {as_ms(applied.at_us)} ms, "
                f"after it had resolved a schema for {late.tx} at {show(late.ts)}",
                (late, applied),
                clauses=("98.ap",),
            )


CHECKERS.add("atomicity", Atomicity())
