"""Watches of a client: armed at commit, relative to what the transaction saw.

    made --commit--> armed: WatchKey(value that the transaction saw) --its value differs--> fired
                       ^--rest-- time over, or the storage server lags
    (not armed where the transaction does not commit)

A watch may fire late, since the storage server may lag or be out of reach, and without a reason,
after a rollback or where the value can no longer be read. A value that changes and comes back in
between is not reported.
"""

from ddlsim.fdb.connection import Connection
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.model.ports import Future
from ddlsim.units import US_PER_MS, Micros


class Watch:
    """Waits for a change of a key: `await watch.fired`."""

    def __init__(self, connection: Connection, key: bytes) -> None:
        if connection.watches >= connection.settings.watches_most:
            raise FdbError(ErrorCode.TOO_MANY_WATCHES)
        connection.watches += 1
        self._connection = connection
        self._key = key
        self._ended = False
        self.fired: Future[None] = connection.node.future()

    def arm(self, read_version: int, version: int, seen: tuple[object] | None) -> None:
        """Begin to wait, from a version on.

        `seen` is what the transaction itself wrote; None: what it saw is what the store had.
        """
        self._connection.node.spawn(self._wait(read_version, version, seen))

    def cancel(self) -> None:
        """Wait no longer; it never fires then."""
        if not self._ended:
            self._ended = True
            self._connection.watches -= 1

    async def _wait(self, read_version: int, version: int, seen: tuple[object] | None) -> None:
        connection = self._connection
        if seen is None:
            try:
                seen = (await connection.get(self._key, read_version, connection.patient),)
            except FdbError:
                self._fire()
                return
        while not self._ended:
            try:
                await connection.changed(self._key, seen[0], version)
            except FdbError as error:
                if not self._ended:
                    await connection.node.sleep(self._rest(error.code))
            else:
                self._fire()

    def _rest(self, code: ErrorCode) -> Micros:
        """How long to rest before it is asked for again: longer where the storage server lags."""
        settings = self._connection.settings
        is_behind = code is ErrorCode.FUTURE_VERSION
        return Micros(
            (settings.watch_poll_ms if is_behind else settings.version_rest_ms) * US_PER_MS
        )

    def _fire(self) -> None:
        if not self._ended:
            self.cancel()
            self._connection.node.probe("store-watch-fired")
            self.fired.set(None)
