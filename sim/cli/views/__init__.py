"""What a person reads: text on a terminal, and pages beside it."""
