"""The parts of I9: what has to come, by when, and what nothing may wait for."""
