"""Models of groups and their members: Raft, timers, logs and disks."""
