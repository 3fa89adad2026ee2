"""The search for violations: what makes two of them the same."""
