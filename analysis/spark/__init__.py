"""Spark: its JVM, its sessions, chunks of a sweep and other work spread over its tasks."""
