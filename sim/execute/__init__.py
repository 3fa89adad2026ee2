"""Runs jobs on processes of this machine: workers, replacement of dead ones, budgets."""
