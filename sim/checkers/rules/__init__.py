"""The parts of I12: what follows from how the machinery of every design works, rule by rule."""
