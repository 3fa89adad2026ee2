"""IEP-98 and IEP-110: what a node does, whoever drives it."""
