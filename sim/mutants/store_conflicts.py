"""Resolvers and commit proxies of the store that let conflicts through, or refuse without need."""

from ddlsim.fdb.conflicts import ConflictWindow
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.messages import (
    Commit,
    ToResolve,
)
from ddlsim.fdb.proxy import Outcome, Proxy
from ddlsim.fdb.resolver import Resolver
from ddlsim.mutants.base import mutates


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
