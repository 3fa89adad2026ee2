"""How it is told that a node did not learn in time which schema holds."""


class MetadataLateError(Exception):
    """The metadata of a node did not become complete in time: whatever waits for it ends."""
