"""Real databases: clients change rows and tables by a plan, and every answer becomes a history."""
