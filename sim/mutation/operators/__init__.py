"""The operators: each makes one kind of fault, wherever the source has room for it."""
