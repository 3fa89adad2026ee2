"""For all renames with aliases: one name, one meaning, and who may commit is who is still meant."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ddlsim.checkers.case.schemas import SchemaLog
from ddlsim.checkers.spec.spec import judged_step
from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import ObjectChange
from ddlsim.model.schema import Alias, View
from ddlsim.protocol.schema.catalog import Catalog, Snapshot
from ddlsim.protocol.schema.compatibility import forward_compatible
from ddlsim.protocol.schema.ddl import Built
from ddlsim.protocol.schema.ddl_answers import dropped
from ddlsim.protocol.schema.renaming import alias
from ddlsim.units import Timestamp, plus_ms, timestamp
from tests.support.schemas import statement

NAMES = st.sampled_from("abcd")
STATEMENTS = st.one_of(
    st.builds("ALTER TABLE {} RENAME TO {}".format, NAMES, NAMES),
    st.builds("ALTER TABLE {} RENAME TO {}".format, NAMES, NAMES),
    st.builds("CREATE TABLE {} (id INT PRIMARY KEY)".format, NAMES),
    st.builds("DROP TABLE {}".format, NAMES),
)
TIMED = st.lists(st.tuples(STATEMENTS, st.integers(1, 30)), max_size=14)


class World(NamedTuple):
    """A catalog, its log for the judges, and every activation."""

    catalog: Catalog
    log: SchemaLog
    instants: list[Timestamp]


def played(asked: list[tuple[str, int]], window_ms: int) -> World:
    """Statements so many milliseconds apart; each old name ends when its window is over."""
    catalog, logged = Catalog(), list[UpdateLogged]()

    def install(objects: tuple[ObjectChange, ...], ts: Timestamp) -> None:
        version = catalog.version + 1
        catalog.apply(version, ts, ts, objects)
        logged.append(UpdateLogged(0, "n1", f"d{version}", version, version, ts, ts, 0, objects))

    def end_names(now: Timestamp) -> None:
        for found in catalog.latest().objects():
            if isinstance(found, Alias):
                due_ts = plus_ms(catalog.activation_of_object(found.id, 1), found.window_ms)
                if due_ts <= now:
                    install((dropped(found),), due_ts)

    now = timestamp(0)
    for text in ("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE b (id INT PRIMARY KEY)"):
        asked = [(text, 1), *asked]
    for text, pause_ms in asked:
        now = plus_ms(now, pause_ms)
        end_names(now)
        built = alias(statement(text), catalog.latest(), window_ms)
        if isinstance(built, Built):
            install(built.objects, now)
    end_names(plus_ms(now, window_ms))
    log = SchemaLog(list(enumerate(logged)))
    return World(catalog, log, [Timestamp(update.activation_ts) for update in logged])


def leads_to(snapshot: Snapshot, name: str, object_id: int) -> bool:
    found = snapshot.meant(name)
    return found is not None and found.id == object_id


@given(TIMED, st.integers(0, 60))
def test_a_name_means_one_thing_at_a_time(asked: list[tuple[str, int]], window_ms: int) -> None:
    world = played(asked, window_ms)
    for ts in world.instants:
        objects = world.catalog.at(ts).objects()
        assert len({found.name for found in objects}) == len(objects)
        for found in objects:
            assert len(world.log.relations(found.name, ts)) == 1


@given(TIMED, st.integers(0, 60))
def test_a_transaction_commits_only_if_its_names_still_mean_its_tables(
    asked: list[tuple[str, int]], window_ms: int
) -> None:
    """A table by the name that it had, an alias by its own; at each instant since."""
    world = played(asked, window_ms)
    for at, enlist_ts in enumerate(world.instants):
        for found in world.catalog.at(enlist_ts).objects():
            meant = found.tables[0] if isinstance(found, View) else found.id
            still = True
            for ts in world.instants[at:]:
                still = still and leads_to(world.catalog.at(ts), found.name, meant)
                steps = world.catalog.steps(found.id, found.version, ts)
                assert forward_compatible(steps) == still, (found, ts)


@given(TIMED, st.integers(0, 60))
def test_protocol_and_judges_follow_a_name_alike(
    asked: list[tuple[str, int]], window_ms: int
) -> None:
    world = played(asked, window_ms)
    for at, enlist_ts in enumerate(world.instants):
        for found in world.catalog.at(enlist_ts).objects():
            for ts in world.instants[at:]:
                own = world.catalog.steps(found.id, found.version, ts)
                theirs = world.log.steps_at(found.id, found.version, ts)
                known = [(step.object_id, step.version) for step in own]
                assert known == [(step.object_id, step.version) for step in theirs]
                judged = all(judged_step(step.changes, step.kind).compatible for step in theirs)
                assert judged == forward_compatible(own)


@given(TIMED, st.integers(1, 60))
def test_an_old_name_stays_for_its_window_or_goes_with_its_table(
    asked: list[tuple[str, int]], window_ms: int
) -> None:
    world = played(asked, window_ms)
    for enlist_ts in world.instants:
        for found in world.catalog.at(enlist_ts).objects():
            if isinstance(found, Alias):
                began = world.catalog.activation_of_object(found.id, 1)
                last = world.catalog.at(Timestamp(plus_ms(began, window_ms) - 1))
                assert last.by_id(found.id) == found or last.by_id(found.tables[0]) is None
                assert world.catalog.at(plus_ms(began, window_ms)).by_id(found.id) is None
