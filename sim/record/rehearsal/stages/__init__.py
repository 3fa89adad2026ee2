"""Databases that a migration can be rehearsed on, a file for each."""
