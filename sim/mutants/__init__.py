"""Designs with one sentence removed or broken."""
