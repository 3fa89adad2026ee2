"""Closed forms, and their comparison with runs."""
