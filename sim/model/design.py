"""The header of a design: its name, where it comes from, and what it claims to keep.

A *claim* is an invariant of protocol.md section 7 together with the assumptions under which the
design promises it. A breach of a claim under its assumptions is a violation; with an assumption
broken on purpose it is *out of assumption*; of what was never claimed, *accepted weirdness*.
"""

from typing import Final

from msgspec import field

from ddlsim.model.records import Record

SKEW_BOUNDED: Final = "skew<=CSmax"
"""No physical clock is ever behind what any has shown by then by more than the configured CSmax."""
LEASES_HOLD: Final = "skew<=CSmax between leases"
"""The same, for what rests on there being one primary at a time: it matters only in a run where a
place passes from one node to another."""
DELAY_BOUNDED: Final = "PD+skew<=DD"
"""No message that matters takes longer than the delay duration less the skew."""
ELECTIONS_SLOW: Final = "skew<=election timeout"
"""No physical clock is ever behind what any has shown by more than an election takes."""
RATES_BOUNDED: Final = "drift<=margin"
"""No physical clock goes faster or slower than true time by more than leases allow for (field
`drift_percent` of the design), and none steps."""


ASSUMPTIONS: Final = (SKEW_BOUNDED, LEASES_HOLD, DELAY_BOUNDED, ELECTIONS_SLOW, RATES_BOUNDED)
"""Everything that a claim may rest on."""
BACKWARD_RULES: Final = ("forbid_all", "by_change_type", "by_tuple", "off", "by_table_version")
"""The rules for rows of a newer version, as `DesignHeader.backward` names them."""

LAYERED_PLANES: Final = ("fdb",)
"""The planes on which SQL is a layer over a key-value store. A transaction there reads at one
version, writes at the version of its commit, holds no locks, and writes the entries of indexes
itself. Timestamps are versions of one sequencer and rest on no clock."""


class Claim(Record, frozen=True):
    """An invariant that a design promises, what it needs for it, and the breaches it admits.

    `less` names kinds of anomalies against which the design promises nothing, and edges by which a
    version is used when it is no longer in force (`rw-schema[metadata, late]`): a cycle is left out
    whose late edges are all among them. `concerning` are the
    kinds that rest on what is assumed, where others of the same invariant rest on nothing.
    """

    invariant: str
    assumes: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    concerning: tuple[str, ...] = ()


class DesignHeader(Record, frozen=True):
    """What a judge must know of a design; it travels in the history's header.

    `ddl_edges_assume` are the assumptions of the real-time edges that leave a DDL; `backward` is
    the rule for rows of a newer version: `forbid_all`, `by_change_type`, `by_tuple`, `off`, or
    `by_table_version`, by which indexes and names make no row newer.
    `rules` names the rule in each field of the design as it was declared: what a scenario sets in a
    field counts, what a mutant breaks does not. Rules from outside of the protocol have a dotted
    name.
    """

    name: str
    summary: str
    source: str
    plane: str
    claims: tuple[Claim, ...]
    ddl_edges_assume: tuple[str, ...] = (SKEW_BOUNDED,)
    backward: str = "forbid_all"
    rules: dict[str, str] = field(default_factory=dict)
