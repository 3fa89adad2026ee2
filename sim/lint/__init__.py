"""Statements against the rules of compatibility, without a run."""
