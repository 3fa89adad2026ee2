"""The graph engine: histories of millions of transactions as columns, no object for each.

`history` holds them, `versions` lays the versions of every key side by side, `edges` builds the
serialization graph from that, `certificate` shows that there is no cycle, `residue` keeps what may
lie on one, `cycles` searches there and `classify` names what was found; `judge` is the entry.
"""
