"""Shrinking: a failing run to the smallest scripted scenario that still fails in the same way."""
