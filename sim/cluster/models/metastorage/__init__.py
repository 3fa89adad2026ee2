"""Models of the meta storage: commands and their way into it, safe time, leases, placement."""
