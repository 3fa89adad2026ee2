"""A scenario and a seed to a plan: all random choices are made here."""
