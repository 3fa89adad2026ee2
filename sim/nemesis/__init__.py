"""Families of faults, one file each."""
