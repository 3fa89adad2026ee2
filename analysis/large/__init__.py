"""Histories too large for one machine, judged on Spark."""
