"""Mutation testing: small faults in the protocol's source, and whether the search finds them."""
