"""What every proxy holds of the database itself: the metadata version and the local space."""

from collections.abc import Iterable

from ddlsim.fdb.messages import StateChange


class LocalState:
    """The metadata version and the values of the local space, as of a version."""

    def __init__(self, version: int = 0) -> None:
        self.version = version
        self.metadata_version = 0
        self.values: dict[bytes, object] = {}

    @classmethod
    def of(cls, changes: Iterable[StateChange], version: int) -> "LocalState":
        """The state after changes that were all logged."""
        state = cls()
        for change in changes:
            state.apply(change)
        state.version = version
        return state

    def holds(self, required: tuple[tuple[bytes, object], ...]) -> bool:
        """Whether keys of the local space have these values."""
        return all(self.values.get(key) == value for key, value in required)

    def apply(self, change: StateChange) -> bool:
        """Take a change; whether it counts: it was accepted, and what it requires holds."""
        self.version = change.version
        if not (change.accepted and self.holds(change.required)):
            return False
        if change.bump:
            self.metadata_version = change.version
        for _, key, value in change.mutations:
            if value is None:
                self.values.pop(key, None)
            else:
                self.values[key] = value
        return True
