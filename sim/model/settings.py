"""The settings of the protocol: one table, declared once.

A field of `Settings` is a setting: its name (with the unit), what it means, its bounds, and its
default or the rule by which it follows from others. From this table follow the record that the
protocol reads, the keys of `[protocol]` and `[protocol.nodes.NAME]` in a scenario and their bounds,
`ddlsim list settings`, and the table in scenarios/README.md.

A setting with neither default nor rule is a choice of the scenario, which gives it or names one of
the `PRESETS`. The other defaults are Apache Ignite 3's numbers, where it has them.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Annotated, Any, Final, get_type_hints

from ddlsim.units import FOREVER_MS, US_PER_MS, Micros

Numbers = Mapping[str, int]
"""Values of settings by name."""
TIMES: Final = ("ms", "us")
UNITS: Final = (*TIMES, "bytes")
"""What the last part of a setting's name may say of its unit."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How a setting follows from others: the same in words, and as a function."""

    words: str
    value: Callable[[Numbers], int]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a setting besides its value.

    `most`: the largest value; None: no bound but that of a time. `clauses` are those whose rule
    reads it first of all; `source` is what else has it. Not `per_node`: the value is the same for
    the whole cluster. One whose default is true or false is a switch.
    """

    doc: str
    _: KW_ONLY
    least: int = 1
    most: int | None = None
    default: int | bool | None = None
    rule: Rule | None = None
    clauses: tuple[str, ...] = ()
    source: str = ""
    per_node: bool = True
    name: str = ""

    @property
    def unit(self) -> str:
        """`ms`, `us`, `bytes`, or nothing for a count and a switch."""
        _, _, last = self.name.rpartition("_")
        return last if last in UNITS else ""

    @property
    def is_switch(self) -> bool:
        """Whether its values are true and false."""
        return type(self.default) is bool

    @property
    def otherwise(self) -> str:
        """The value where the scenario gives none, in words."""
        if self.rule is not None:
            return f"default: {self.rule.words}"
        if self.is_switch:
            return f"default: {str(self.default).lower()}"
        return f"default: {self.default}" if self.default is not None else "no default"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the most; raises if there is no most."""
        assert self.most is not None, f"{self.name} has no bound"
        return self.least, self.most

    def of(self, name: str, *, default: int | bool | None = None) -> "Setting":
        """The setting of this name, and with this default if it has none; a time is bounded."""
        named = replace(self, name=name, default=self.default if default is None else default)
        if self.most is None and named.unit in TIMES:
            return replace(named, most=FOREVER_MS)
        return named


def _share(of: str, divisor: int, words: str, least: int = 1) -> Rule:
    return Rule(f"{words} `{of}`", lambda n: max(least, n[of] // divisor))


@dataclass(slots=True, kw_only=True)
class Settings:
    """A node's settings as its protocol reads them; whole milliseconds and counts.

    They may differ from node to node and change while a node runs; no strategy sets them.
    `complete` gives every value. The `_us` fields are three of them in microseconds, computed once:
    these three do not change during a run.
    """

    delay_duration_ms: Annotated[
        int,
        Setting(
            "DD: an update activates so long after its message", least=0, clauses=("98.past.2",)
        ),
    ]
    max_clock_skew_ms: Annotated[
        int,
        Setting(
            "the configured CSmax: the most by which two clocks differ",
            least=0,
            clauses=("98.flow.4",),
        ),
    ]
    safe_time_interval_ms: Annotated[
        int,
        Setting(
            "H: the meta storage's leader sends an idle safe-time command after so long "
            "without a command",
            clauses=("98.safe.3",),
        ),
    ]
    operation_timeout_ms: Annotated[
        int, Setting("time limit of an operation", least=0, default=30_000)
    ]
    resend_ms: Annotated[
        int,
        Setting(
            "a request between nodes without a reply is sent again after this, then each time "
            "after twice as long, up to `operation_timeout_ms`",
            least=1,
            default=200,
        ),
    ]
    ddl_attempts: Annotated[
        int, Setting("attempts of a DDL statement against a catalog that changes", default=10)
    ]
    lock_retries: Annotated[
        int, Setting("retries of a refused lock before wait-die aborts", least=0, default=3)
    ]
    election_timeout_ms: Annotated[
        int,
        Setting(
            "a follower stands for election after so long without a message of a leader",
            default=1_200,
        ),
    ]
    lease_duration_ms: Annotated[
        int, Setting("term of a primary's lease, unless it is renewed", default=5_000)
    ]
    lease_check_ms: Annotated[
        int, Setting("interval at which the placement driver looks at the leases", default=500)
    ]
    snapshot_entries: Annotated[
        int, Setting("applied entries that a log keeps before it is compacted", default=1_000)
    ]
    partition_idle_ms: Annotated[
        int,
        Setting(
            "a partition's leader stamps an idle command after so long without a write",
            default=1_000,
        ),
    ]
    tx_timeout_ms: Annotated[
        int, Setting("age at which its coordinator aborts a transaction", default=30_000)
    ]
    orphan_check_ms: Annotated[
        int,
        Setting(
            "a transaction that has blocked another for so long has its coordinator probed",
            default=1_000,
        ),
    ]
    lock_retry_ms: Annotated[
        int, Setting("pause before a refused lock is retried", least=0, default=5)
    ]
    laggard_ms: Annotated[
        int,
        Setting(
            "lag of a primary's meta storage beyond which `keeps_lease = "
            '"promote_another"` replaces it',
            default=500,
        ),
    ]
    backfill_rows: Annotated[
        int, Setting("rows that one step of the backfill of an index deals with", default=8)
    ]
    backfill_pause_ms: Annotated[
        int, Setting("pause after a step of a backfill", least=0, default=5)
    ]
    barrier_wait_ms: Annotated[
        int,
        Setting("how long `a3_barrier_impatient` waits for nodes that do not answer", default=500),
    ]
    retry_ms: Annotated[
        int,
        Setting(
            "pause before a request is retried that met no leader or primary, or a node that "
            "is not it or has crashed",
            rule=_share("resend_ms", 4, "a quarter of"),
        ),
    ]
    heartbeat_ms: Annotated[
        int,
        Setting(
            "silence after which a leader sends heartbeats, where its group has no idle commands "
            "within `election_timeout_ms`",
            rule=_share("election_timeout_ms", 10, "a tenth of"),
        ),
    ]
    heartbeat_idle_ms: Annotated[
        int,
        Setting(
            "the same where its group has them",
            rule=_share("election_timeout_ms", 2, "half of"),
        ),
    ]
    election_spread_ms: Annotated[
        int,
        Setting(
            "bound of the random time that a follower adds to the election timeout",
            rule=Rule("`election_timeout_ms`", lambda n: n["election_timeout_ms"]),
        ),
    ]
    lease_renewal_ms: Annotated[
        int,
        Setting(
            "a lease with less than this left is renewed",
            least=0,
            rule=_share("lease_duration_ms", 2, "half of", least=0),
        ),
    ]
    lease_grant_ms: Annotated[
        int,
        Setting(
            "time limit of a candidate to become ready as primary",
            rule=_share("lease_duration_ms", 2, "half of"),
        ),
    ]
    read_resend_ms: Annotated[
        int,
        Setting(
            "a read of the past without a reply goes to another replica after this",
            rule=Rule("twice `partition_idle_ms`", lambda n: 2 * n["partition_idle_ms"]),
        ),
    ]
    orphan_answer_ms: Annotated[
        int,
        Setting(
            "time limit of a coordinator to answer a probe of its transaction",
            rule=Rule(
                "four times `resend_ms`, at least `orphan_check_ms`",
                lambda n: max(4 * n["resend_ms"], n["orphan_check_ms"]),
            ),
        ),
    ]
    orphan_sweep_ms: Annotated[
        int,
        Setting(
            "a transaction that blocks no other has its coordinator probed after so long "
            "without activity",
            rule=Rule("twice `orphan_check_ms`", lambda n: 2 * n["orphan_check_ms"]),
        ),
    ]
    metadata_wait_ms: Annotated[
        int,
        Setting(
            "time limit of the wait for metadata where `resolve_schema = "
            '"wait_in_time_then_look_up"`',
            least=0,
            rule=_share("operation_timeout_ms", 2, "half of", least=0),
        ),
    ]
    metadata_hope_ms: Annotated[
        int,
        Setting(
            "the same where the operation then goes on with incomplete metadata",
            least=0,
            rule=_share("operation_timeout_ms", 10, "a tenth of", least=0),
        ),
    ]

    operation_timeout_us: Micros = field(init=False)
    busy_leader_us: Micros = field(init=False)
    """For how long a leader that is busy is asked again (Apache Ignite 3): half of an operation's
    limit, so that the coordinator has the answer before it asks anew."""
    resend_us: Micros = field(init=False)
    retry_us: Micros = field(init=False)

    def __post_init__(self) -> None:
        self.operation_timeout_us = Micros(self.operation_timeout_ms * US_PER_MS)
        self.busy_leader_us = Micros(self.operation_timeout_us // 2)
        self.resend_us = Micros(self.resend_ms * US_PER_MS)
        self.retry_us = Micros(self.retry_ms * US_PER_MS)


def _declared() -> dict[str, Setting]:
    """The settings that are fields of the record."""
    hints: dict[str, Any] = get_type_hints(Settings, include_extras=True)
    names = [each.name for each in fields(Settings) if each.init]
    return {name: hints[name].__metadata__[0].of(name) for name in names}


COMMIT_WAIT: Final = Setting(
    "how long a client waits for a commit beyond `operation_timeout_ms`; counts in the drain",
    least=0,
    default=10_000,
    per_node=False,
).of("commit_wait_ms")
"""A setting of clients, not of nodes."""
SETTINGS: Final[dict[str, Setting]] = _declared() | {COMMIT_WAIT.name: COMMIT_WAIT}
"""Every setting by name, in the order of the table."""
DEFAULTS: Final = {
    name: each.default for name, each in SETTINGS.items() if each.default is not None
}
SYMBOLS: Final = {
    "delay_duration_ms": "DD",
    "max_clock_skew_ms": "CSmax",
    "safe_time_interval_ms": "H",
}
"""What the documents call some settings."""
REQUIRED: Final = tuple(
    name for name, each in SETTINGS.items() if each.default is None and each.rule is None
)
"""What a scenario or its preset must give."""
PRESETS: Final[dict[str, dict[str, int]]] = {
    "ignite3_defaults": {
        "delay_duration_ms": 500,
        "max_clock_skew_ms": 500,
        "safe_time_interval_ms": 250,
    },
    "ignite3_tests": {
        "delay_duration_ms": 100,
        "max_clock_skew_ms": 7,
        "safe_time_interval_ms": 50,
    },
}
"""Apache Ignite 3 as it is delivered, and as its own tests set it."""


def complete(numbers: Numbers) -> dict[str, int]:
    """The settings of a node: the given values, and what follows from them by rule.

    Raises `KeyError` if a value that a rule needs is missing.
    """
    follow = {name: each.rule.value(numbers) for name, each in SETTINGS.items() if each.rule}
    return follow | {name: value for name, value in numbers.items() if SETTINGS[name].per_node}
