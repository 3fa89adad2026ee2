"""What all tests share: the two ways Hypothesis may look for counterexamples, one Spark session."""

import gc
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from xdist.scheduler import LoadFileScheduling

from ddlsim.cluster.models.once import AGREED
from ddlsim.garbage import collect_seldom
from ddlsim.registry import REGISTRIES
from ddlsim.strategies.base import STRATEGIES

# What a script runs in the background ignores SIGINT, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The default repeats itself exactly, so that a red suite is red for everybody.
# No example is refused for being slow: a busy machine makes any of them slow.
SLOW = (HealthCheck.too_slow,)
settings.register_profile(
    "ci", derandomize=True, max_examples=50, deadline=None, suppress_health_check=SLOW
)
# By hand, at night: pytest --hypothesis-profile nightly
settings.register_profile(
    "nightly", max_examples=2_000, deadline=None, print_blob=True, suppress_health_check=SLOW
)
settings.load_profile("ci")


# With several workers a long file that is begun last keeps all but one of them waiting.
LONG_FIRST = (
    *("tests/spark/", "tests/unit/analysis/", "tests/unit/cli/", "tests/scenarios/"),
    "tests/house/",
    *("tests/unit/mutation/", "tests/unit/plan/", "tests/unit/shrink/", "tests/unit/search/"),
    *("tests/property/", "tests/unit/verify/", "tests/determinism/", "tests/ledger/"),
    *("tests/fuzz/", "tests/unit/docs/"),
)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Have every worker collect from another place on: one compiles what the others then read."""
    report = yield
    given = getattr(collector.config, "workerinput", None)
    if given and isinstance(collector, pytest.Dir):
        found, number = report.result, int(given["workerid"].removeprefix("gw"))
        at = len(found) * number // given["workercount"]
        report.result = found[at:] + found[:at]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files: folders whose files take long first, else by name."""

    def place(item: pytest.Item) -> tuple[int, str]:
        file = item.nodeid.partition("::")[0]
        found = (n for n, folder in enumerate(LONG_FIRST) if file.startswith(folder))
        return next(found, len(LONG_FIRST)), file

    items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodeready() -> None:
    """Write, while workers collect, the table of characters that each would make for itself."""
    st.text().validate()


gc.disable()  # until all is collected
COLLECT_AFTER = 2_000_000
"""How many new objects make the collector look: histories of several tests are gone by then."""


def pytest_collection_finish() -> None:
    """Exempt what collection made from garbage collection: it lives as long as the process."""
    gc.freeze()
    collect_seldom(COLLECT_AFTER)
    gc.enable()


TOOLS = "tests/house/test_tools.py"
SHIPPED_LIST = "tests/scenarios/test_shipped_list.py"
STORIES = "tests/unit/shrink/test_story.py"
BRANCHES = "tests/unit/plan/test_swarm_branches.py"


class SharedFiles(LoadFileScheduling):
    """A file is one worker's work; so are tests of several files that share what is costly.

    All files that need Spark share a JVM, and those of the house rules, but the tools, the syntax
    trees of all files; stories are told of what `test_shrink` shrinks, rare branches are looked
    for in the worlds of `test_swarm`. The lines of the shipped list are compared where the runs
    are: those of negative scenarios beside the mutants, the others beside `test_scenarios`.
    """

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        if scope.startswith(("tests/spark/", "tests/house/")) and scope != TOOLS:
            return scope.rpartition("/")[0]
        if scope == SHIPPED_LIST:
            runs = "mutants" if "[negative/" in nodeid else "scenarios"
            return f"tests/scenarios/test_{runs}.py"
        if scope == STORIES:
            return "tests/unit/shrink/test_shrink.py"
        if scope == BRANCHES:
            return "tests/unit/plan/test_swarm.py"
        return scope


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedFiles:
    """The scheduler of `-n`, whatever `--dist` says."""
    return SharedFiles(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores, tuned to start quickly; begun when the first test asks for it."""
    from ddlsim.analysis.spark import session as sessions
    from tests.support.quick_spark import QUICK

    quick = {**QUICK, "spark.sql.shuffle.partitions": "2"}
    with sessions.session("local[2]", name="tests", settings=quick) as session:
        yield session


@pytest.fixture(autouse=True)
def _models_are_asked_again(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where a test plants a fault, what agreed before is compared again; behind it that holds."""
    if "monkeypatch" not in request.fixturenames:
        yield
        return
    before = dict(AGREED)
    AGREED.clear()
    yield
    AGREED.clear()
    AGREED.update(before)


@pytest.fixture(autouse=True)
def _no_plugin_stays() -> Iterator[None]:
    """Fail a test whose plug-in all later tests of this process would find."""
    before = [(one, one.added()) for one in tuple(REGISTRIES) if one._discovered]
    yield
    for registry, names in before:
        left = registry.added() - names
        assert not left, f"{registry.kind} plug-ins stay: {left}; use tests.support.forked"


@pytest.fixture
def own_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test adds to the designs is gone behind it."""
    monkeypatch.setattr(STRATEGIES, "_items", dict(STRATEGIES.items()))


@pytest.fixture
def _only_new_garbage() -> None:
    """Have `gc.collect` look at what the test makes alone, and not at what others keep."""
    gc.freeze()
