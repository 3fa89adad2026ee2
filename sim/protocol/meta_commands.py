"""What stands in the meta storage's log, and the state that it makes."""

from ddlsim.model.records import Record
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, SafeTimeCommand, Submitted
from ddlsim.units import Timestamp


class LeaseUpdate(Record, frozen=True):
    """A compare-and-set on the leases: takes effect if `expected` updates have done so before."""

    expected: int
    leases: tuple[Lease, ...]


class Stamped(Record, frozen=True):
    """A command as it stands in the log, under the leader's timestamp."""

    message_ts: Timestamp
    command: CatalogUpdate | SafeTimeCommand | LeaseUpdate | NodeJoined


class AppliedUpdate(Record, frozen=True):
    """A catalog update that took effect, on its way to the catalog listeners."""

    message_ts: Timestamp
    activation_ts: Timestamp
    catalog_version: int
    update: CatalogUpdate


class MetaState(Record, frozen=True):
    """All that the commands up to `index` have made of the state machine: a snapshot."""

    index: int
    term: int
    message_ts: Timestamp
    updates: tuple[AppliedUpdate, ...]
    results: tuple[tuple[str, Submitted], ...]
    lease_version: int
    leases: tuple[Lease, ...]
    joined: tuple[tuple[str, Timestamp], ...]
