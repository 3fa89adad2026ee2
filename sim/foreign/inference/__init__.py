"""External histories: versions and their orders inferred from what was read."""
