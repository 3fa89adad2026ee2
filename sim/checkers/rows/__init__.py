"""The parts of I7, and of its indexes: what rows, entries and answers must hold."""
