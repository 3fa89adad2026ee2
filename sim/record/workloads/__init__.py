"""Workloads of recordings, a file each: what its clients do, drawn from a seed."""
