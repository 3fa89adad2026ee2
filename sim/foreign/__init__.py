"""Histories and logs that other programs wrote, read for our judges."""
