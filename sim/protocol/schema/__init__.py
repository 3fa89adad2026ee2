"""Catalog, statements, column types, and which changes are compatible."""
