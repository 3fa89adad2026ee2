"""Closed form against simulation: experiments 1, 3, 5, 6 and 8 of the catalogue, figure by figure.

`python -m tests.agreement OUT.json [SEEDS]` runs all of them and writes every figure.
"""
