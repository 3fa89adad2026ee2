"""Many jobs on processes of this machine: workers, what becomes of those that die, budgets."""
