"""Estimates and intervals over many runs."""
