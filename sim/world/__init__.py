"""From a scenario and a seed to a plan, a cluster and a run."""
