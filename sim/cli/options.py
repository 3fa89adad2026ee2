"""The options of a verb, as `arguments` reads them and the verb takes them."""

from types import SimpleNamespace


class Options(SimpleNamespace):
    """The values of a verb's arguments and flags, by their names."""
