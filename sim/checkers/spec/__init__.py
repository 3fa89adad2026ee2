"""Which schema changes are compatible: the text of IEP-110, independent of the protocol's code."""
