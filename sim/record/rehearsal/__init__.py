"""Rehearsals: a migration on a copy of a real schema, under a load."""
