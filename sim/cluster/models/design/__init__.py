"""Models of the rules of designs: each a second time, from the clauses."""
