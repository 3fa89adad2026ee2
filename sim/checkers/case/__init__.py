"""A history, indexed for the checkers."""
