"""Faults of recordings, a file each: what is done to clients and servers while they work."""
