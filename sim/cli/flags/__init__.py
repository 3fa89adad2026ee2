"""Flags of the command line, and what their values mean."""
