"""Models of index builds in states."""
