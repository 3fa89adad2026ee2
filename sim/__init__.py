"""A deterministic simulator and judge for online schema change protocols."""
