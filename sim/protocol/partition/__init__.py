"""Partitions of tables: rows, intents, and the replicas of a node."""
