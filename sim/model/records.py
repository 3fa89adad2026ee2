"""The base class of messages, events and other small records: frozen, slotted, without cycles.

`Record` is a msgspec `Struct`: about as cheap to make as a tuple, compared and hashed by value, and
turned into JSON and back by the codec without a word of ours.
"""

import msgspec


class Record(msgspec.Struct, frozen=True, gc=False):
    """An immutable record whose fields never lead back to itself."""


class Tagged(msgspec.Struct, frozen=True, gc=False, tag_field="is"):
    """A record that is one of several kinds; in JSON the field `is` names its kind."""
