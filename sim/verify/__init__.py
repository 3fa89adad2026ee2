"""Many runs: seeds, suites, what they come to, and whether that is as expected."""
