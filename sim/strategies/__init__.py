"""Honest designs, one file each."""
