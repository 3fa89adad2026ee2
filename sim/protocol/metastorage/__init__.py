"""The meta storage: its log, safe time, schema updates, leases and placement."""
