"""Transactions: client, coordinator, participants, locks, commit and recovery."""
