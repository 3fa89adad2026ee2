"""A scenario and a seed to a plan: all chance is spent here."""
