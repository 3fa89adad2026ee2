"""From measured delays and clocks to DD, H and CSmax: goals, model, runs, search, advice."""
