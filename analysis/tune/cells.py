"""The scenarios that `tune` runs: looks for the wait, statements for latency and aborts, skew.

*looks*: many clients that seldom read, so that look-ups come at any time; clients that read one
value after the other would look up less often while they wait (coordinated omission).
*statements*: transactions under DDL that is faster than the operator's, for aborts and the latency
of DDL; the abort rate is converted to the operator's rate of DDL (analysis/tune/agreement.py).
*skewed*: two clocks exactly so far apart, and clients that use on another node what a DDL statement
has just made.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any, Final

import numpy as np

from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.tune.goals import TuneError
from ddlsim.analysis.tune.world import ASSUMED_MS, World
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.scenario.tomltext import toml_value

CLIENTS, LOOKS_EACH, PAUSE_MS = 60, 8, 3_000
WRITERS, OPERATIONS = 8, 5
STATEMENTS: Final = 15
EVERY_MS: Final = 1_000.0
"""The least time between statements: shorter than the operator's, longer than transactions."""
JITTER: Final = 0.3
BEFORE_MS: Final = 300
"""The time of the first statement, and that from the last one to the end of the load."""
CLIENT_MS: Final = 0.5
PAUSE_WRITERS_MS: Final = 600
DICE: Final = 98_110
DELAYS, OFFSETS = "delays.csv", "offsets.csv"


@dataclass(frozen=True)
class Setting:
    """The three numbers to choose, in whole ms."""

    dd: int
    h: int
    cs_max: int


@dataclass(frozen=True)
class Load:
    """The share of incompatible statements, and the length of transactions in ms."""

    incompatible: float
    tx_length: float


class Cells:
    """Makes and numbers the cells of one world and design."""

    def __init__(
        self, world: World, texts: dict[str, str], strategy: str, load: Load, loads: tuple[str, ...]
    ) -> None:
        self.all: list[Cell] = []
        self.loads = loads
        self._world, self._strategy, self._load = world, strategy, load
        known = texts if world.instants is None else texts | {OFFSETS: world.clock_rows}
        self._files = {f"{EMBEDDED}{name}": text for name, text in known.items()}
        self._statements = _statements(load)

    def looks(self, setting: Setting) -> Cell:
        """Waits of single reads at any time."""
        body = f"""
{_clocks(self._world)}
[run]
load_ms = {PAUSE_MS * LOOKS_EACH // 2}
[[workload]]
name = "mixed"
clients = {CLIENTS}
operations = {LOOKS_EACH}
pause_ms = [0, {PAUSE_MS}]
implicit = 1.0
fresh = 0.0
session = 0.0
get = 1
put = 0
delete = 0
scan = 0
select = 0
keys = 1000
"""
        return self._cell("looks", setting, body)

    def statements(self, setting: Setting, *, calm: bool = False) -> Cell:
        """Aborts, and the latency of DDL; `calm` leaves the statements out."""
        gap = self._load.tx_length / OPERATIONS
        load = load_ms(self._load, setting.dd)
        each = ceil(load / (PAUSE_WRITERS_MS / 2))  # more than the load has time for
        body = f"""
{_clocks(self._world)}
[run]
load_ms = {load}
[[workload]]
name = "mixed"
clients = {WRITERS}
operations = {each * OPERATIONS}
transaction_operations = {OPERATIONS}
transaction_tables = 1
pause_ms = [0, {PAUSE_WRITERS_MS}]
gap_ms = {gap}
implicit = 0.0
rollback = 0.0
retries = 0
scan = 0
select = 0
delete = 0
keys = 2000
{"" if calm else self._migrations()}
"""
        return self._cell("calm" if calm else "statements", setting, body)

    def skewed(self, setting: Setting, factor: float) -> Cell:
        """A clock `factor` times CSmax ahead of the leader's; clients that use their own DDL."""
        ahead, behind = self._world.far_apart
        half = factor * setting.cs_max / 2
        body = f"""
[clocks.nodes.{toml_value(ahead)}]
offset_ms = {half}
[clocks.nodes.{toml_value(behind)}]
offset_ms = {-half}
[[workload]]
name = "read_own_ddl"
clients = 4
operations = 6
pause_ms = [0, 100]
[[workload]]
name = "mixed"
clients = {CLIENTS}
operations = {LOOKS_EACH}
pause_ms = [0, {PAUSE_MS}]
implicit = 1.0
put = 0
delete = 0
scan = 0
select = 0
keys = 1000
"""
        return self._cell("skewed", setting, body, skew=factor)

    def _migrations(self) -> str:
        made = [{"node": self._node(n), **each} for n, each in enumerate(self._statements)]
        return "".join(_table("migration", each) for each in made)

    def _node(self, number: int) -> str:
        return self._world.nodes[number % len(self._world.nodes)]

    def _cell(self, kind: str, setting: Setting, body: str, **more: Any) -> Cell:
        world = self._world
        text = f"""\
title = "tune: {kind}"
source = "measurements"
[strategy]
name = {toml_value(self._strategy)}
[protocol]
delay_duration_ms = {setting.dd}
max_clock_skew_ms = {setting.cs_max}
safe_time_interval_ms = {setting.h}
[cluster]
nodes = {toml_value(list(world.order))}
voters = {world.voters}
partitions = {len(world.nodes)}
leader = {toml_value(world.leader)}
[network]
latency_ms = {_delays(world)}
client_latency_ms = {CLIENT_MS}
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
{body}"""
        name = f"tune-{kind}"
        try:
            read(text, name, overrides=self._files)
        except ScenarioError as error:
            why = str(error).partition(": ")[2]
            raise TuneError(f"these numbers make no run: {why}; take other ones") from error
        cell = Cell(
            number=len(self.all),
            name=name,
            text=text,
            overrides=self._files,
            strategy=self._strategy,
            mutant=None,
            parameters={
                "kind": kind,
                "dd_ms": setting.dd,
                "h_ms": setting.h,
                "cs_max_ms": setting.cs_max,
                "skew": more.get("skew", 0.0),
            },
        )
        self.all.append(cell)
        return cell


def _delays(world: World) -> str:
    if world.delays is None:
        median, p99 = ASSUMED_MS.median, ASSUMED_MS.p99
        return f'{{ distribution = "lognormal", median = {median}, p99 = {p99} }}'
    return f'{{ distribution = "empirical", file = "{DELAYS}" }}'


def _clocks(world: World) -> str:
    if world.offsets is None:
        return ""
    return f'[clocks]\noffset_ms = {{ distribution = "empirical", file = "{OFFSETS}" }}'


def every_ms(load: Load) -> float:
    """The time between statements in ms: so long that few transactions meet two of them."""
    return max(EVERY_MS, 3 * load.tx_length)


def load_ms(load: Load, dd: int) -> int:
    """The length of the load in ms: every statement activates within it."""
    return ceil(2 * BEFORE_MS + STATEMENTS * every_ms(load) + dd)


def breaking(load: Load) -> int:
    """The number of forward-incompatible statements."""
    return round(STATEMENTS * load.incompatible)


def _statements(load: Load) -> list[dict[str, Any]]:
    """Statements at even distances with a jitter; each has its own client.

    Even distances make the share of transactions that meet a statement exactly rate x length. The
    instants of a Poisson process, drawn once, would have clusters and gaps common to all seeds.
    """
    dice = np.random.default_rng(DICE)
    places = np.arange(STATEMENTS) + JITTER * dice.random(STATEMENTS)
    at = BEFORE_MS + every_ms(load) * places
    share = breaking(load) / STATEMENTS
    made: list[dict[str, Any]] = []
    for number in range(STATEMENTS):
        breaks = int((number + 1) * share + 1e-9) > int(number * share + 1e-9)
        sql = f"ALTER TABLE t ADD COLUMN c{number} INT"
        if breaks:
            sql = f"ALTER TABLE t ALTER COLUMN v SET DEFAULT {number}"
        made.append({"at_ms": round(float(at[number]), 1), "sql": sql})
    return made


def _table(name: str, fields: dict[str, Any]) -> str:
    lines = [f"{key} = {toml_value(value)}" for key, value in fields.items()]
    return "\n".join([f"[[{name}]]", *lines, ""])
