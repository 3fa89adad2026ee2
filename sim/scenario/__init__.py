"""Scenario files: read, checked with the place of every mistake, and made into records."""
