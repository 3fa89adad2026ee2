"""`pytest --ddlsim scenarios/`: a team's own scenarios as tests in its own repository.

Every TOML file that has a key of a scenario is collected, as one item, or as one for each block of
seeds (`--ddlsim-block`); the seed that a scenario names comes before the others. An item runs its
seeds as `ddlsim run --expect` does and fails with the judge's words and the command that repeats
the run.

pytest loads this module into every suite of an environment in which ddlsim is installed. So without
`--ddlsim` it does nothing and imports nothing; with it, ddlsim's own imports and runs are kept from
a suite's warning filters. It is the one module of ddlsim that may import pytest.
"""

import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from ddlsim.scenario.scenario import Scenario
    from ddlsim.verify.expectation import Sum

DEFAULT_SEEDS: Final = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flags."""
    group = parser.getgroup("ddlsim", "scenarios of online schema changes")
    group.addoption("--ddlsim", action="store_true", help="collect scenario files (.toml)")
    group.addoption(
        "--ddlsim-seeds",
        type=_positive,
        default=DEFAULT_SEEDS,
        metavar="N",
        help=f"seeds of each scenario that leaves something to dice (default: {DEFAULT_SEEDS})",
    )
    group.addoption(
        "--ddlsim-block",
        type=_positive,
        default=None,
        metavar="N",
        help="seeds of one item; what a scenario must reach, each block must (default: all)",
    )
    group.addoption(
        "--ddlsim-load",
        action="append",
        default=[],
        metavar="FILE.py",
        help="a file with more strategies, workloads, faults or checkers",
    )
    group.addoption(
        "--ddlsim-allow-outside",
        action="store_true",
        help="let scenarios name files outside of their folders",
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1 or "_" in text:
        raise ValueError(text)
    return value


def pytest_report_header(config: pytest.Config) -> str | None:
    """A line that tells how many seeds there are."""
    if not config.getoption("ddlsim"):
        return None
    return f"ddlsim: {config.getoption('ddlsim_seeds')} seeds of each scenario"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "ScenarioFile | None":
    """A scenario file, if scenarios are asked for."""
    if not parent.config.getoption("ddlsim") or file_path.suffix != ".toml":
        return None
    named = any(Path(one) == file_path for one in _arguments(parent.config))
    if not named and not is_scenario(file_path):
        return None
    found: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    return found


def _arguments(config: pytest.Config) -> Iterator[Path]:
    for argument in config.args:
        yield (config.invocation_params.dir / argument.partition("::")[0]).absolute()


def is_scenario(path: Path) -> bool:
    """Whether a TOML file has a key that scenarios have; what is not TOML is for its reader."""
    import tomllib

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from msgspec.structs import fields

        from ddlsim.files import TEXT_MOST, unfit
        from ddlsim.scenario.tables import ScenarioTable
    try:
        if unfit(path, TEXT_MOST) is not None:
            return True  # its reader tells why
        keys = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError):
        return True
    return any(field.encode_name in keys for field in fields(ScenarioTable))


class ScenarioFile(pytest.File):
    """A scenario file: an item for each block of seeds."""

    def collect(self) -> Iterable["SeedsItem"]:
        """Read the file; an error has its line."""
        scenario = self._scenario()
        seeds = seeds_of(scenario, self.config.getoption("ddlsim_seeds"))
        size = self.config.getoption("ddlsim_block") or len(seeds)
        for under, one in [("", scenario), *self._others(scenario)]:
            for at in range(0, len(seeds), size):
                block = seeds[at : at + size]
                name = _named(block) + (under and f" under {under}")
                item: SeedsItem = SeedsItem.from_parent(self, name=name, scenario=one, seeds=block)
                yield item

    def _others(self, scenario: "Scenario") -> Iterator[tuple[str, "Scenario"]]:
        """The scenario under each other design of which it says what comes of it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ddlsim.scenario.expect import label_of
            from ddlsim.verify.suite import designs_named, under

            for strategy, mutant in designs_named(scenario):
                yield label_of(strategy, mutant), under(scenario, strategy, mutant)

    def _scenario(self) -> "Scenario":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ddlsim.cluster.designs import check_design
            from ddlsim.extras import MissingExtraError, needed_by
            from ddlsim.plan.plan import plan
            from ddlsim.registry import BadPluginError, load_file
            from ddlsim.scenario import bounds
            from ddlsim.scenario.load import load
            from ddlsim.verify.campaign import BAD_INPUT

            bad: tuple[type[Exception], ...] = (*BAD_INPUT, BadPluginError, MissingExtraError)
            try:
                with needed_by("pytest --ddlsim"):
                    for file in self.config.getoption("ddlsim_load"):
                        load_file(file)
                    scenario = load(
                        self._relative(), outside=self.config.getoption("ddlsim_allow_outside")
                    )
                    bounds.check_run(scenario.name, scenario.estimate, None)
                    check_design(plan(scenario, 0))
            except bad as error:
                raise self.CollectError(str(error)) from None
        return scenario

    def _relative(self) -> str:
        """The path as a user would type it."""
        here = self.config.invocation_params.dir
        return str(self.path.relative_to(here) if self.path.is_relative_to(here) else self.path)


def seeds_of(scenario: "Scenario", count: int) -> tuple[int, ...]:
    """So many seeds from 0 on, or one of a scenario without dice; behind the one that it names."""
    named = scenario.table.seed
    if scenario.scripted:
        return (named or 0,)
    return tuple(dict.fromkeys([*([] if named is None else [named]), *range(count)]))


def _named(block: tuple[int, ...]) -> str:
    """Seeds in a row by the first and the last; one that stands before them for itself."""
    first, last = block[0], block[-1]
    if len(block) == 1:
        return f"seed {first}"
    if last - first + 1 == len(block):
        return f"seeds {first}..{last}"
    rest = block[1:]
    return f"seeds {first} and {rest[0]}" + (f"..{rest[-1]}" if len(rest) > 1 else "")


class NotAsExpectedError(Exception):
    """A scenario did not end as it expects; the message is for people, in full."""


class SeedsItem(pytest.Item):
    """Some seeds of a scenario, compared with what it expects."""

    def __init__(self, *, scenario: "Scenario", seeds: tuple[int, ...], **more: Any) -> None:
        super().__init__(**more)
        self._scenario = scenario
        self._seeds = seeds

    def runtest(self) -> None:
        """Run every seed, then compare."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from ddlsim.verify.campaign import Job, Runner
            from ddlsim.verify.expectation import sum_of

            scenario = self._scenario
            runner = Runner(Job(scenario.name, scenario.text, scenario.overrides))
            rows = [runner.row(seed) for seed in self._seeds]
            total = sum_of(rows, reaches=scenario.reaches, expect=scenario.expect)
            if not total.as_expected:
                loads = self.config.getoption("ddlsim_load")
                raise NotAsExpectedError(message_of(scenario, total, loads))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any) -> Any:
        """The message alone where a scenario disappoints; where ddlsim fails, everything."""
        if isinstance(excinfo.value, NotAsExpectedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *more)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where the item comes from."""
        return self.path, None, f"{self._scenario.name} {self.name}"


def message_of(scenario: "Scenario", total: "Sum", loads: list[str]) -> str:
    """What is not as expected, the judge's words on the first run that failed, how to repeat it."""
    from ddlsim.cli.repeat import also, of_scenario

    first = total.first_failed or total.runs[0]
    lines = [f"not as the scenario expects: {line}" for line in total.unexpected]
    if total.never_reached:
        lines.append(f"never reached: {', '.join(total.never_reached)}")
    grave = [
        (place, one)
        for place, one in enumerate(first.violations)
        if one.status in ("violation", "stuck")
    ]
    for place, one in grave[:1]:
        lines += ["", f"{one.invariant} {one.checker}: {one.summary}"]
        lines += [first.arguments[place]] if place in first.arguments else []
    lines += [line for line in (*first.stuck, first.crash) if line]
    given = {key: scenario.overrides.get(f"strategy.{key}") for key in ("name", "mutant")}
    again = of_scenario(
        scenario.name,
        first.seed,
        strategy=given["name"],
        mutant=given["mutant"],
        also=also(loads, outside=scenario.outside),
    )
    return "\n".join([*lines, "", f"repeat: {again}"])
