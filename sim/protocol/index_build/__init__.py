"""Index builds: the states of indexes, and the work on their entries in partitions."""
