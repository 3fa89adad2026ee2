"""Many runs: campaigns of seeds, the regression suite, and whether results are as expected."""
