"""The serialization graph of a native history: its edges, its cycles, reads that no order has."""
