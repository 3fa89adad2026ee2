"""Resolvers and commit proxies of the store that let conflicts through, or refuse without need."""

from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.messages import (
    Commit,
    Entry,
    Failed,
    Range,
    Resolved,
    ToResolve,
    VersionsGranted,
)
from ddlsim.fdb.proxy import Outcome, Proxy
from ddlsim.fdb.resolver import Resolver
from ddlsim.mutants.base import mutates


class WithoutAnEdge(ConflictWindow):
    """A transaction that reads before the window is compared with what is left of it."""

    def _judge(self, tx: ToResolve, oldest: int) -> ErrorCode | None:
        return super()._judge(tx, -1)


@mutates(
    "resolver",
    "resolver_checks_beyond_its_window",
    "FoundationDB: a transaction that reads before the resolvers' window is too old",
    "serializability",
)
class ResolverWithoutAnEdge(Resolver):
    """A transaction that reads before the window is compared with what is left of the window."""

    conflict_class = WithoutAnEdge


class BlindToRanges(ConflictWindow):
    """Ranges that were read are not compared with keys that were written."""

    def _range_conflicts(self, begin: bytes, end: bytes, since: int) -> bool:
        return False


@mutates(
    "resolver",
    "resolver_blind_to_ranges",
    "FoundationDB: a range that was read conflicts with every write in it",
    "serializability",
)
class ResolverBlindToRanges(Resolver):
    """A range that was read conflicts with nothing."""

    conflict_class = BlindToRanges


class BlindToKeys(ConflictWindow):
    """Of keys that were written in the last version before a transaction's, none is seen."""

    def _conflicts(self, reads: tuple[Range, ...], since: int) -> bool:
        newest = max(self._points.values(), default=0)
        hidden = [key for key, version in self._points.items() if since < version == newest]
        kept = {key: self._points.pop(key) for key in hidden}
        found = super()._conflicts(reads, since)
        self._points.update(kept)
        return found


@mutates(
    "resolver",
    "resolver_misses_the_last_write",
    "FoundationDB: a transaction conflicts with every write up to its commit version",
    "serializability",
)
class ResolverBlindToTheLast(Resolver):
    """The newest write that was accepted is not compared with what later transactions read."""

    conflict_class = BlindToKeys


class OnlyWriters(ConflictWindow):
    """Only what writes here is checked here."""

    def _judge(self, tx: ToResolve, oldest: int) -> ErrorCode | None:
        return super()._judge(tx, oldest) if tx.writes else None


@mutates(
    "resolver",
    "resolver_checks_its_writers_only",
    "FoundationDB: every resolver checks what was read of its own keys",
    "index_contents",
)
class ResolverOfWriters(Resolver):
    """A resolver accepts what only reads its keys, and writes those of another one."""

    conflict_class = OnlyWriters


@mutates(
    "proxy",
    "one_resolver_decides",
    "FoundationDB: a transaction commits only if all resolvers accept it",
    "serializability",
)
class OneResolverDecides(Proxy):
    """What the last resolver refuses is refused, whatever the others say."""

    def _assemble(
        self, granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
    ) -> tuple[dict[int, Failed], Entry]:
        refused = resolved[-1].refused
        return super()._assemble(
            granted, requests, [Resolved(refused, one.changes) for one in resolved]
        )


class NoFuture(ConflictWindow):
    """Nothing counts as written in the future."""

    def decide(self, tx: ToResolve) -> ErrorCode | None:
        """Decide without the writes that were asked for at later versions."""
        self._future.clear()
        return super().decide(tx)


@mutates(
    "resolver",
    "resolver_forgets_the_future",
    "a write-conflict-key in the future",
    "index_contents",
    under="c11_future_conflict",
)
class ResolverWithoutFuture(Resolver):
    """A write conflict at a version in the future is forgotten with the next batch."""

    conflict_class = NoFuture


class NoPast(ConflictWindow):
    """Conflicts since a version in the past are looked for since the read version."""

    def _judge(self, tx: ToResolve, oldest: int) -> ErrorCode | None:
        for key, since in tx.pasts:
            if self._conflicts((key,), max(since, tx.read_version)):
                return ErrorCode.NOT_COMMITTED
        return super()._judge(
            ToResolve(tx.version, tx.read_version, tx.reads, tx.writes, (), tx.futures), oldest
        )


@mutates(
    "resolver",
    "resolver_looks_back_to_the_read_version",
    "a read-conflict-key for a key in the past",
    "index_contents",
    under="c13_past",
)
class ResolverWithoutPast(Resolver):
    """A read conflict in the past is looked for from the read version on."""

    conflict_class = NoPast


@mutates(
    "proxy",
    "proxy_compares_nothing",
    "the completely atomic cutover semantics",
    "index_contents",
    under="c7_ss_local",
)
class ProxyWithoutComparison(Proxy):
    """A proxy does not compare the local space with what a transaction requires of it."""

    async def commit(self, sender: str, request: Commit) -> Outcome | None:
        """Take a transaction without what it requires."""
        return await super().commit(
            sender,
            Commit(
                request.number,
                request.read_version,
                request.reads,
                request.writes,
                request.mutations,
                request.pasts,
                request.futures,
                request.bump,
                (),
                request.has_stamps,
            ),
        )


@mutates(
    "proxy",
    "proxy_ignores_other_proxies",
    "FoundationDB: a proxy takes metadata changes of other proxies before its own batch",
    "atomicity",
)
class IgnoresOtherProxies(Proxy):
    """Changes of the metadata version and the local space by other proxies are not taken."""

    def _catch_up(self, resolved: list[Resolved], first: int) -> None:
        pass
