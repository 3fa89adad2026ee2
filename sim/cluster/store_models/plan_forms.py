"""The steps of statements a second time: through which states an index goes, and what is refused.

Strategies C6 and C16: an index is public once rows that exist have their entries, and no
transaction that writes none can commit any more. What no such steps can do is refused.  [plan]
"""

from typing import Final

from ddlsim.cluster.store_models.layer_walk import statement
from ddlsim.cluster.store_models.rule_bench import Bench
from ddlsim.layer.design import OwnIndex
from ddlsim.layer.schema import Schema, Update
from ddlsim.layer.update import own_index
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, Refused, build

Done = tuple[str, bool, bool, bool]
"""What a step comes to; whether it works on rows inside, after, and before it counts for all."""
UP: Final = {
    "three_states": "write_only public",
    "three_states_alone": "write_only public",
    "all_states": "delete_only write_only reorganization public",
    "all_states_up": "delete_only write_only reorganization public",
    "without_delete_only": "write_only reorganization public",
    "without_write_only": "delete_only public",
    "without_reorganization": "delete_only write_only public",
    "backfill_too_early": "delete_only write_only public",
}
"""The states of a new index."""
AT_ONCE: Final = ("direct", "straight_to_public")
INSIDE: Final = (*AT_ONCE, "three_states")
"""Rules with which an update works on rows in its own transaction, if it makes no index."""
ROWS_AFTER: Final = ("three_states", "three_states_alone")
"""Rules with which a new CHECK is one step; with others it is refused."""
DROPS_AT_ONCE: Final = (*ROWS_AFTER, "all_states_up")
"""Rules with which a dropped index has one step behind which its entries are erased."""
CREATE: Final = "CREATE INDEX made ON t (v)"
DROP: Final = "DROP INDEX ui"
CHECK: Final = "ALTER TABLE t ADD CONSTRAINT c CHECK (v > 0)"
RETYPED: Final = "ALTER TABLE u ALTER COLUMN v SET DATA TYPE VARCHAR(9)"
COLUMN: Final = "ALTER TABLE t ADD COLUMN made INT"
GONE: Final = "DROP TABLE u"
TABLE: Final = "CREATE TABLE made (id INT PRIMARY KEY, v INT, CONSTRAINT c CHECK (v > 0))"
WRONG: Final = ("CREATE INDEX ui ON t (v)", "DROP INDEX none", "DROP TABLE none")


def steps_of(bench: Bench, text: str) -> list[Done]:
    """What the steps of a statement come to, one after the other; the last one may be refused."""
    found: list[Done] = []
    schema = bench.part.log
    steps = bench.design.plan(statement(text))
    if isinstance(steps, Refused):
        return [("refused", False, False, False)]
    for place, step in enumerate(steps):
        own = own_index(schema, text)
        built = step.building(schema.latest(), own)
        if not isinstance(built, Built):
            return [*found, ("refused", False, False, False)]
        schema = _after(schema, text, place, built)
        what = _state(schema.latest(), own or own_index(schema, text))
        found.append((what, step.inside, step.after, step.early))
    return found


def behind_a_drop(bench: Bench, text: str) -> list[str]:
    """What each further step of a statement comes to, once its index is dropped."""
    steps = bench.design.plan(statement(text))
    assert not isinstance(steps, Refused), f"{text} is refused"
    schema, found = bench.part.log, list[str]()
    for place, step in enumerate(steps[:-1]):
        built = step.building(schema.latest(), own_index(schema, text))
        assert isinstance(built, Built), f"{built} is no step of {text}"
        schema = _after(schema, text, place, built)
        own = own_index(schema, text)
        table = None if own is None else schema.latest().by_id(own[0])
        names = [one.name for one in table.indexes] if isinstance(table, Table) else []
        drop = build(statement(f"DROP INDEX {names[-1]}"), schema.latest(), 0)
        assert isinstance(drop, Built), f"{drop} drops no index"
        dropped = _after(schema, "drop", place, drop)
        found.append(type(steps[place + 1].building(dropped.latest(), own)).__name__)
    return found


def _after(schema: Schema, op: str, place: int, built: Built) -> Schema:
    """A schema behind one more update."""
    number, version = schema.number + 1, 1_000 + place
    update = Update(number, "p1", op, f"{op}/{place}", version, version, built.objects)
    return schema.extended((update,))


def _state(snapshot: Snapshot, own: OwnIndex | None) -> str:
    """The state of the statement's index; "gone", or "done" where it is on none."""
    if own is None:
        return "done"
    table = snapshot.by_id(own[0])
    indexes = table.indexes if isinstance(table, Table) else ()
    return next((one.state for one in indexes if one.id == own[1]), "gone")


def due_of(rule: str, text: str) -> list[Done]:
    """The steps of a statement by a rule."""
    inside, after = (True, False, False), (False, True, False)
    if text in WRONG:
        return [("refused", False, False, False)]
    if text == CREATE:
        states = UP.get(rule, "public").split()
        early = rule == "backfill_too_early"
        last = len(states) - 2  # behind this one the rows that exist have their entries
        return [
            (one, rule in AT_ONCE, place == last, early and place == last)
            for place, one in enumerate(states)
        ]
    if text == DROP and rule != "direct" and rule not in DROPS_AT_ONCE:
        nothing = (False, False, False)
        return [("write_only", *nothing), ("delete_only", *nothing), ("gone", *after)]
    if text == DROP:
        return [("done", *(inside if rule == "direct" else after))]
    if text == GONE and rule == "three_states":
        return [("done", *after)]
    if rule in INSIDE:
        return [("done", *inside)]
    if text == RETYPED or (text == CHECK and rule not in ROWS_AFTER):
        return [("refused", False, False, False)]
    return [("done", False, text != TABLE, False)]


def plan(bench: Bench) -> None:
    """Each kind of statement."""
    rule = bench.name("plan")
    for text in (CREATE, DROP, CHECK, RETYPED, COLUMN, GONE, TABLE, *WRONG):
        bench.same(f"the steps of {text} by {rule}", steps_of(bench, text), due_of(rule, text))
    for text, what in ((CREATE, "Refused"), (DROP, "NoOp")):
        due = [what] * (len(due_of(rule, text)) - 1)
        got = behind_a_drop(bench, text)
        bench.same(f"the steps of {text} by {rule} without its index", got, due)


PLAN_FORMS: Final = dict.fromkeys((*UP, *AT_ONCE), plan)
"""What compares a rule of steps, by its name."""
