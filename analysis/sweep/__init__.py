"""Sweeps: grids of settings, chunks of runs, rows in files."""
