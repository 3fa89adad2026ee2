"""Many jobs: here, in processes, on Spark."""
