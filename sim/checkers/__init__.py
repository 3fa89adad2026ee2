"""Judges of histories, one property each."""
