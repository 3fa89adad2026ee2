"""Witness logs of a real cluster."""
