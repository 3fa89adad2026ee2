"""Generators of client operations, one file each."""
