"""Reads scenario files into records; each mistake is an error with its file, line and key."""
