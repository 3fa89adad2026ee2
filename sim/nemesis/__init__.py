"""Kinds of faults, one file each; `actions` is what they may do to a cluster."""
