"""What a commit proxy must log of a batch: by version, from what resolvers have said."""

from collections.abc import Iterable, Sequence

from ddlsim.cluster.store_models.beside import apply_change, state_of
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import METADATA_VERSION, is_local, pack
from ddlsim.fdb.messages import (
    CLEAR,
    EVERYWHERE,
    SET,
    Commit,
    Entry,
    Failed,
    Mutation,
    Resolved,
    StateChange,
    VersionsGranted,
)

Assembled = tuple[dict[int, Failed], Entry]


class Assembly:
    """The state of a proxy, as of a version: what all transactions before it have left of it.

    Of a batch counts what every resolver accepts, if what it requires of the local space holds
    where it stands in the order of versions.
    """

    def __init__(self, config: FdbConfig, changes: Iterable[StateChange], version: int) -> None:
        self._local = config.settings.local_keys
        self._begins = [pack(shard.begin) for shard in config.shards]
        self.version = version
        self.bumped, values = state_of(changes)
        self._values = {key: value for key, value in values.items() if value is not None}

    def take(
        self, granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
    ) -> Assembled:
        """What is refused, by version, and what is logged."""
        self._of_others(granted.first, resolved)
        refused: dict[int, Failed] = {}
        for version in range(granted.first, granted.first + len(requests)):
            told = [failed for one in resolved for at, failed in one.refused if at == version]
            if told:
                ranges = tuple(each for failed in told for each in failed.conflicts)
                refused[version] = Failed(told[0].code, ranges)
        written: dict[int, list[tuple[int, tuple[Mutation, ...]]]] = {}
        changes: list[StateChange] = []
        for version, request in enumerate(requests, granted.first):
            if version in refused:
                continue
            if not self._holds(request.required):
                keys = tuple(key for key, _ in request.required)
                refused[version] = Failed(ErrorCode.NOT_COMMITTED, keys)
                continue
            change = self._change(version, request)
            if change is not None:
                self._apply(change)
                changes.append(change)
            for shard, own in self._by_shard(version, request).items():
                written.setdefault(shard, []).append((version, tuple(own)))
        self.version = granted.last
        by_shard = {shard: tuple(own) for shard, own in written.items()}
        return refused, Entry(granted.previous, granted.last, by_shard, tuple(changes))

    def local(self, key: bytes) -> object:
        """The value of a key of the local space."""
        return self._values.get(key)

    def _of_others(self, first: int, resolved: Sequence[Resolved]) -> None:
        """Changes of other proxies that lie before this batch."""
        for place, change in enumerate(resolved[0].changes):
            if self.version < change.version < first:
                accepted = all(one.changes[place].accepted for one in resolved)
                if accepted and self._holds(change.required):
                    self._apply(change)

    def _holds(self, required: tuple[tuple[bytes, object], ...]) -> bool:
        return [value for _, value in required] == [self.local(key) for key, _ in required]

    def _apply(self, change: StateChange) -> None:
        self.bumped = apply_change(change, self.bumped, self._values)

    def _change(self, version: int, request: Commit) -> StateChange | None:
        """What a transaction changes for all proxies, if anything."""
        local = tuple(one for one in request.mutations if self._local and is_local(one[1]))
        if not (local or request.bump or request.futures):
            return None
        return StateChange(version, request.bump, local, request.required, request.futures)

    def _by_shard(self, version: int, request: Commit) -> dict[int, list[Mutation]]:
        """The mutations of each shard in their order, the metadata version last."""
        found: dict[int, list[Mutation]] = {}
        bumped = ((SET, METADATA_VERSION, version),) if request.bump else ()
        for mutation in (*request.mutations, *bumped):
            kind, key, value = mutation
            if self._local and is_local(key):
                found.setdefault(EVERYWHERE, []).append(mutation)
            elif kind == CLEAR:
                assert isinstance(value, bytes), f"{value!r} ends no range"
                for shard, begin in enumerate(self._begins):
                    rest = self._begins[shard + 1 :]
                    first, last = max(key, begin), min([value, *rest])
                    if first < last:
                        found.setdefault(shard, []).append((CLEAR, first, last))
            else:
                shard = sum(begin <= key for begin in self._begins) - 1
                found.setdefault(shard, []).append(mutation)
        return found
