"""What the layer needs of the key-value store: FoundationDB's client library, as interfaces.

`ddlsim.fdb` has them; so has a plain store in memory, beside which the layer is tested.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from ddlsim.fdb.errors import FdbError
from ddlsim.fdb.keys import Key
from ddlsim.fdb.transaction import TxOptions

T = TypeVar("T")


class Watch(Protocol):
    """A watch on a key."""

    @property
    def fired(self) -> Awaitable[None]:
        """Comes once the key may have changed since the read version of its transaction."""


class StoreTransaction(Protocol):
    """A transaction of the store; every wait may raise `FdbError`."""

    async def read_version(self) -> int:
        """The version that it reads at, asked for at the first use."""

    async def metadata_version(self, *, snapshot: bool = False) -> int | None:
        """The metadata version that came with the read version; None: unreadable."""

    def bump_metadata_version(self) -> None:
        """Write the metadata version at commit."""

    async def get(self, key: Key, *, snapshot: bool = False) -> object:
        """A value, or None."""

    async def get_range(
        self, begin: Key, end: Key, *, snapshot: bool = False, limit: int | None = None
    ) -> list[tuple[Key, object]]:
        """The keys of a range and their values, in order."""

    def set(self, key: Key, value: object) -> None:
        """Write a value."""

    def clear(self, key: Key) -> None:
        """Remove a key."""

    def clear_range(self, begin: Key, end: Key) -> None:
        """Remove the keys of a range."""

    def set_versionstamped_value(self, key: Key, make: Callable[[int], object]) -> None:
        """Write a value that is made of the commit version."""

    def add_read_conflict_key(self, key: Key, since: int | None = None) -> None:
        """Fail to commit if the key was written after the read version, or after `since`."""

    def add_write_conflict_key(self, key: Key, at: int | None = None) -> None:
        """Count as a write of the key at the commit version, or at a version in the future."""

    async def local(self, key: Key) -> object:
        """What the storage servers hold of a local key at the read version."""

    def require_local(self, key: Key, value: object) -> None:
        """Fail to commit unless the local key has this value at the commit version."""

    def watch(self, key: Key) -> Watch:
        """A watch that is armed at commit."""

    async def commit(self) -> int:
        """The commit version; of a transaction that wrote nothing its read version."""

    async def on_error(self, error: FdbError) -> None:
        """Rest before another attempt, or raise what is not worth one."""

    def cancel(self) -> None:
        """Give it up: its watches, unless armed, end. One that had any is committed or given up."""


class Store(Protocol):
    """A connection to the store."""

    def transaction(self, options: TxOptions = ...) -> StoreTransaction:
        """A new transaction."""


async def run(store: Store, attempt: Callable[[StoreTransaction], Awaitable[T]]) -> T:
    """Run an attempt in a transaction and commit it, until that succeeds (FoundationDB: `run`).

    Returns what the committed attempt returned. Between attempts it rests, longer each time. Raises
    an `FdbError` that no further attempt would mend. An attempt behind one of unknown result reads
    what that one may have written.
    """
    transaction = store.transaction()
    while True:
        try:
            done = await attempt(transaction)
            await transaction.commit()
        except FdbError as error:
            await transaction.on_error(error)
        else:
            return done
