"""A hunt is a function of its seed and corpus: any number of processes, killed and resumed."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from msgspec.structs import replace

from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import CRASH, signature_of
from ddlsim.execute.parallel import Executor
from ddlsim.files import WriteError
from ddlsim.kernel.engine import Loop, SimulationCrashed
from ddlsim.plan import swarm
from ddlsim.scenario.tomltext import toml_text
from ddlsim.search import corpus, program
from ddlsim.search.corpus import CorpusError, Found, State
from ddlsim.search.crash import crash_of
from ddlsim.search.digest import digest_of
from ddlsim.search.explore import (
    Explored,
    Explorer,
    Job,
    Seen,
    Stored,
    Target,
    explorer,
    lost,
)
from ddlsim.search.hunt import SWARM_SEEDS, Hunt, Stop, begun, never, until_violation

pytestmark = pytest.mark.slow

SMALL = {"workload[0].operations": 6, "workload[0].clients": 2}
"""Set over every world, so that it takes less time."""
TARGET = Target({"strategy.name": "iep_closed", **SMALL})
SEED = 13
BATCH = 5
WORLDS = 13
"""Two batches, and the greater part of a third one."""


def state(*, guided: bool = True, target: Target = TARGET, seed: int = SEED) -> State:
    return State(target, seed, BATCH, guided)


@cache
def once(target: bytes, job: Job) -> Explored:
    return Explorer(msgspec.json.decode(target, type=Target)).explore([job])[0]


def known(target: Target, job: Job) -> Explored:
    """What comes of a job, which is a function of target and job: each is run once."""
    return once(msgspec.json.encode(target), replace(job, number=0))


def recalled(target: Target) -> Callable[[Sequence[Job]], list[Explored]]:
    """What runs the worlds of a hunt in this process, but those that another one has run."""
    return lambda jobs: [known(target, job) for job in jobs]


def hunted(first: State, worlds: int = WORLDS, *, processes: int = 1, stop: Stop = never) -> Hunt:
    """A hunt up to so many worlds, or until it stops; in other processes all are run."""
    hunt = Hunt(first, stop)
    make = partial(recalled if processes == 1 else explorer, first.target)
    with Executor(make, partial(lost, first.target), processes=processes, alone_s=0) as executor:
        while hunt.number < worlds and not hunt.stopped:
            jobs = [job for job in hunt.jobs() if job.number < worlds]
            executor.run_in_order(jobs, hunt.take)
    return hunt


def timeless(state: State) -> State:
    """The state without what depends on the machine."""
    found = tuple(replace(one, cpu_s=0.0) for one in state.found)
    return replace(state, cpu_s=0.0, found=found)


@cache
def whole() -> State:
    return timeless(hunted(state()).state)


def test_a_hunt_keeps_what_is_new_and_varies_it() -> None:
    found = whole()
    assert found.number == WORLDS
    assert set(found.hits) == {one for entry in found.entries for one in entry.features}
    assert sum(len(entry.features) for entry in found.entries) == len(found.hits)
    seeds = {entry.world.seed - SEED * SWARM_SEEDS for entry in found.entries}
    assert any(0 <= seed < WORLDS for seed in seeds)
    assert any(not 0 <= seed < WORLDS for seed in seeds), "no varied world is kept"


def test_the_number_of_processes_changes_nothing() -> None:
    assert timeless(hunted(state(), processes=2).state) == whole()


def test_results_in_the_order_of_arrival_would_change_it() -> None:
    """The planted fault: parents are chosen from what has arrived, not from whole batches."""

    class Hasty(Hunt):
        def jobs(self) -> list[Job]:
            return super().jobs()[:2]

    uncut = whole()
    with patch(f"{__name__}.Hunt", Hasty):
        assert timeless(hunted(state()).state) == uncut, "the rest of a batch is as it was"

    class Greedy(Hunt):
        def _job(self, number: int, parents: list[int], rare: list[int]) -> Job:
            return super()._job(number, list(range(len(self.entries))), rare)

        def jobs(self) -> list[Job]:
            return super().jobs()[:1]

    with patch(f"{__name__}.Hunt", Greedy):
        assert timeless(hunted(state()).state) != uncut


def test_a_hunt_that_was_cut_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    """Cut within its first batch, behind it, and within the second one."""
    at, saved = state(), 0
    for cut in (3, 5, 8):
        saved = corpus.save(str(tmp_path), hunted(at, cut).state, saved)
        kept = corpus.load(str(tmp_path))
        assert kept is not None
        assert kept.number == cut
        at = begun(state(), kept)
    assert timeless(hunted(at).state) == whole()


def test_a_resumed_hunt_that_forgot_its_rare_features_would_differ() -> None:
    """The planted fault: rarity reckoned anew in the middle of a batch."""
    assert whole().rare
    with patch.object(Hunt, "_rare", lambda self, parents: parents[:1]):
        assert timeless(hunted(state()).state) != whole()


def test_worlds_of_another_hunt_are_run_first() -> None:
    kept = hunted(state(seed=4), 4).state
    first = begun(state(), kept)
    assert first.stored == tuple(entry.world for entry in kept.entries)
    jobs = Hunt(first, never).jobs()
    count = len(kept.entries)
    assert [job.as_is for job in jobs] == [True] * count + [False] * (len(jobs) - count)
    explored = Explorer(TARGET).explore(jobs[:1])[0]
    assert explored.world == kept.entries[0].world
    assert set(kept.entries[0].features) <= set(explored.features)


def test_worlds_that_a_cut_hunt_has_not_come_to_are_not_lost() -> None:
    """Else a hunt of another seed that is ended at once would empty the corpus."""
    kept = hunted(state(seed=4), 4).state
    cut = hunted(begun(state(), kept), 1).state
    back = begun(state(seed=4), cut)
    texts = {one.text for one in back.stored}
    assert texts == {entry.world.text for entry in kept.entries}


def found_in(kept: State, place: int, name: str) -> State:
    """The same, with a signature that the world of an entry has shown."""
    seen = Seen(name, name, "violation", "I3", "serializability", "G1c", "")
    found = Found(seen, 1, place, 0.5, kept.entries[place].world, drawn=True)
    return replace(kept, found=(*kept.found, found))


def test_worlds_of_another_program_are_run_again_those_with_violations_first() -> None:
    kept = found_in(hunted(replace(state(), program="0.0 a"), 4).state, 2, "gone")
    same = begun(replace(state(), program="0.0 a"), kept)
    assert (same, same.not_shown()) == (kept, ())
    first = begun(replace(state(), program="0.0 b"), kept)
    order = [2, *(at for at in range(len(kept.entries)) if at != 2)]
    assert first.stored == tuple(kept.entries[at].world for at in order)
    assert (first.number, first.entries, first.hits, first.found) == (0, (), {}, ())
    assert first.not_shown() == ()  # not known yet
    done = hunted(first, len(order)).state
    assert [one.id for one in done.not_shown()] == ["gone"]
    again = found_in(done, 0, "gone")
    assert again.not_shown() == ()
    assert begun(replace(state(), program="0.0 b"), again) == again


def test_under_other_settings_nothing_says_that_a_signature_is_gone() -> None:
    kept = found_in(hunted(replace(state(seed=4), program="0.0 a"), 4).state, 2, "gone")
    first = begun(replace(state(target=OTHER_PLANE), program="0.0 b"), kept)
    assert (len(first.stored), first.before) == (len(kept.entries), ())


def test_a_program_is_known_by_its_source_and_its_plug_ins(tmp_path: Path) -> None:
    package, plugin = tmp_path / "package", tmp_path / "plugin.py"
    (package / "cli").mkdir(parents=True)
    plugin.write_text("", "utf-8")
    seen = [digest_of(package, ("cli",)), program.name([str(plugin)])]
    (package / "cli" / "word.py").write_text("other", "utf-8")
    assert digest_of(package, ("cli",)) == seen[0]
    (package / "rule.py").write_text("other", "utf-8")
    assert digest_of(package, ("cli",)) != seen[0]
    plugin.write_text("other", "utf-8")
    assert program.name([str(plugin)]) != seen[1]
    assert program.name([]) == program.name([])


def test_a_corpus_of_another_program_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    kept(tmp_path)
    path = tmp_path / "hunt.json"
    path.write_text(path.read_text("utf-8").replace('"number":2', '"number":"x"'), "utf-8")
    with pytest.raises(CorpusError, match="ddlsim of an earlier version wrote it in a form"):
        corpus.load(str(tmp_path), "0.2 b")


OTHER_PLANE = Target({"strategy.name": "c1_schema"})


def test_a_world_of_another_plane_is_none_under_this_design() -> None:
    """One that is drawn takes its place: the hunt goes on."""
    parent = known(TARGET, Job(0, 5)).world
    assert "plane" not in parent.text
    world, drawn = Explorer(OTHER_PLANE).world_of(Job(0, 5, parent, as_is=True))
    assert (world.data["cluster"]["plane"], drawn) == ("fdb", True)
    same, drawn = Explorer(TARGET).world_of(Job(0, 5, parent, as_is=True))
    assert (toml_text(same.data), drawn) == (parent.text, False)


def test_an_unguided_hunt_runs_the_worlds_of_the_swarm() -> None:
    jobs = Hunt(replace(state(guided=False), number=0), never).jobs()
    assert [job.draw for job in jobs] == [SEED * SWARM_SEEDS + number for number in range(BATCH)]
    explored = Explorer(TARGET).explore(jobs[:1])[0]
    drawn = swarm.draw(swarm.Source(), jobs[0].draw)
    assert explored.drawn
    assert drawn.text.endswith(explored.world.text)


# --- what it finds -------------------------------------------------------------------------------

BROKEN = Target({"strategy.name": "iep_closed", "strategy.mutant": "activates_with_message"})
BROKEN_SEED = 5
"""The first violation is not in the first world."""


@cache
def drawn_outcome(number: int) -> str:
    """The outcome of a drawn world of the broken design."""
    return known(BROKEN, Job(0, BROKEN_SEED * SWARM_SEEDS + number)).outcome.word


@pytest.mark.parametrize("processes", [1, 2])
def test_a_hunt_ends_at_the_first_violation_in_the_order_of_worlds(processes: int) -> None:
    stop = until_violation(findings=False)
    hunt = hunted(state(target=BROKEN, seed=BROKEN_SEED), 64, processes=processes, stop=stop)
    assert hunt.stopped
    violated = [one for one in range(hunt.number) if drawn_outcome(one) == "violated"]
    assert 0 < hunt.number - 1 == violated[0] < BATCH, "the first batch is drawn"


def seen(identity: str, status: str = "violation") -> Seen:
    return Seen(identity, f"I3 {identity}", status, "I3", "serializability", "G1c", "summary")


def explored(*found: Seen, features: Iterable[str] = ()) -> Explored:
    text = "text"
    return Explored(Stored(text, 1), True, Outcome.OK, tuple(features), 5, found, 0.25)


def after(*results: Explored, stop: Stop = never) -> Hunt:
    hunt = Hunt(state(), stop)
    for job, result in zip(hunt.jobs(), results, strict=False):
        if hunt.take(job, result):
            break
    return hunt


def test_violations_of_one_signature_are_counted_once() -> None:
    hunt = after(
        explored(seen("a")),
        explored(),
        explored(seen("a"), seen("b")),
        explored(seen("a", "finding:F-1")),
    )
    found = [
        (one.seen.id, one.seen.status, one.count, one.number, one.cpu_s) for one in hunt.state.found
    ]
    assert found == [
        ("a", "violation", 2, 0, 0.25),
        ("b", "violation", 1, 2, 0.75),
        ("a", "finding:F-1", 1, 3, 1.0),
    ]
    assert (hunt.number, hunt.transactions, hunt.cpu_s) == (4, 20, 1.0)


@pytest.mark.parametrize(
    ("findings", "statuses", "worlds"),
    [
        (False, ["finding:F-1", "violation"], 2),
        (True, ["finding:F-1", "violation"], 1),
        (False, ["finding:F-1", "finding:F-2"], 2),
        (False, ["stuck", "violation"], 1),
        (False, [CRASH, "violation"], 1),
    ],
)
def test_what_ends_a_hunt(findings: bool, statuses: list[str], worlds: int) -> None:
    results = [explored(seen("a", status)) for status in statuses]
    assert after(*results, stop=until_violation(findings=findings)).number == worlds


def test_only_worlds_with_a_new_feature_are_kept() -> None:
    hunt = after(explored(features="ab"), explored(features="ab"), explored(features="abc"))
    assert [entry.features for entry in hunt.state.entries] == [("a", "b"), ("c",)]
    assert hunt.state.hits == {"a": 3, "b": 3, "c": 1}


def test_a_crash_is_found_by_its_error_and_place() -> None:
    def broken(*words: Any, **more: Any) -> None:
        raise RuntimeError("no such thing")

    with patch("ddlsim.search.explore.judge", broken):
        result = Explorer(TARGET).explore([Job(0, 1)])[0]
    assert result.outcome is Outcome.CRASHED
    assert [one.signature for one in result.seen] == ["crash: RuntimeError in test_hunt.py broken"]
    assert result.seen[0].summary == "no such thing"


async def asserts() -> None:
    raise AssertionError("no such timestamp")


async def looks_up() -> None:
    raise KeyError(7)


CRASHES = {
    "crash: AssertionError in test_hunt.py asserts": asserts,
    "crash: KeyError in test_hunt.py looks_up": looks_up,
}


@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_of_a_task_is_known_by_what_the_task_raised(name: str) -> None:
    """The engine raises for every task, one kind of error at one place."""
    loop = Loop()
    loop.spawn(CRASHES[name]())
    with pytest.raises(SimulationCrashed) as raised:
        loop.run()
    found = crash_of(raised.value)
    assert signature_of(found).text == name
    assert found.summary.startswith(name.rpartition(" ")[2])


@pytest.mark.parametrize("most", [3, 5])
def test_a_run_that_the_engine_ends_is_known_by_why_it_did(most: int) -> None:
    loop = Loop()
    for at_us in range(9):
        loop.call_at(at_us, lambda: None)
    with pytest.raises(SimulationCrashed) as raised:
        loop.run(events_max=most)
    text = signature_of(crash_of(raised.value)).text
    assert text == "crash: SimulationCrashed in engine.py, more than N events"


def test_a_lost_world_is_the_one_at_which_processes_died() -> None:
    drawn = lost(TARGET, Job(0, 5), "killed by signal 9")
    assert drawn.world == replace(known(TARGET, Job(0, 5)).world, instants_ms=())
    assert (drawn.drawn, drawn.outcome) == (True, Outcome.CRASHED)
    parent = known(TARGET, Job(0, 5)).world
    varied = Job(0, 9, parent)
    world, is_drawn = Explorer(TARGET).world_of(varied)
    found = lost(TARGET, varied, "killed by signal 9")
    assert (found.world.text, found.drawn) == (toml_text(world.data), is_drawn)
    assert found.world.text != parent.text


# --- damaged corpora -----------------------------------------------------------------------------


def kept(folder: Path) -> State:
    found = hunted(state(), 2).state
    corpus.save(str(folder), found, 0)
    return found


def test_load_gives_what_save_was_given(tmp_path: Path) -> None:
    assert corpus.load(str(tmp_path)) is None
    assert corpus.load(str(tmp_path)) is None
    found = kept(tmp_path)
    assert corpus.load(str(tmp_path)) == found


DAMAGES = {
    "cut": ("hunt.json", lambda text: text[: len(text) // 2], "it is damaged"),
    "no JSON": ("hunt.json", lambda text: "hello", "it is damaged"),
    "another type": (
        "hunt.json",
        lambda text: text.replace('"number":2', '"number":"x"'),
        "damaged",
    ),
    "another format": (
        "hunt.json",
        lambda text: text.replace('"format":1', '"format":9'),
        "format 9",
    ),
    "a world changed": ("world-0.toml", lambda text: text + "# more\n", "was changed"),
    "a world gone": ("world-0.toml", None, "No such file"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_corpus_is_refused_with_its_file(damage: str, tmp_path: Path) -> None:
    kept(tmp_path)
    name, change, what = DAMAGES[damage]
    path = tmp_path / name
    if change is None:
        path.unlink()
    else:
        path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(CorpusError, match=what) as raised:
        corpus.load(str(tmp_path))
    assert name in str(raised.value)


def test_a_world_that_is_no_text_is_refused(tmp_path: Path) -> None:
    kept(tmp_path)
    (tmp_path / "world-0.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CorpusError, match="no UTF-8"):
        corpus.load(str(tmp_path))


def test_claim_refuses_what_is_no_corpus(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine", "utf-8")
    with pytest.raises(CorpusError, match=r"holds notes and no hunt\.json"):
        corpus.claim(str(tmp_path))
    with pytest.raises(WriteError, match="it is a file"):
        corpus.claim(str(tmp_path / "notes"))
    corpus.claim(str(tmp_path / "new"))
    assert (tmp_path / "new").is_dir()


def test_two_hunts_at_a_time_do_not_share_a_corpus(tmp_path: Path) -> None:
    with (
        corpus.held(str(tmp_path)),
        pytest.raises(CorpusError, match="another hunt is under way there"),
        corpus.held(str(tmp_path)),
    ):
        pass
    with corpus.held(str(tmp_path)):
        pass


def test_a_corpus_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """By what the system says: root may write everywhere."""
    with (
        patch("os.access", lambda path, mode: False),
        pytest.raises(CorpusError, match="nothing can be written there"),
    ):
        corpus.claim(str(tmp_path))


def test_save_writes_only_entries_that_are_new(tmp_path: Path) -> None:
    found = kept(tmp_path)
    (tmp_path / "world-0.toml").unlink()
    assert corpus.save(str(tmp_path), found, len(found.entries)) == len(found.entries)
    assert not (tmp_path / "world-0.toml").exists()
