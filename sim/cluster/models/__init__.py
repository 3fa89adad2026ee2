"""Models that a run carries out beside the parts of its nodes, and compares them with."""
