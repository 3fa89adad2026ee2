"""Isolation by its definitions: a brute-force oracle of small histories, and what it is fed."""
