"""Worlds drawn for one rule each, a file for each: clients, tables, changes and faults."""
