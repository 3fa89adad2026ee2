"""Many runs: sweeps, aggregation, figures and pages."""
