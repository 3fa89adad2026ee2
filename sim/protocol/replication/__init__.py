"""Raft groups: timers, disk, messages and the state machine of a group."""
