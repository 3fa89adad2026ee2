"""What all tests share: the two ways Hypothesis may look for counterexamples."""

from hypothesis import settings

# The default repeats itself exactly, so that a red suite is red for everybody.
settings.register_profile("ci", derandomize=True, max_examples=100, deadline=None)
# By hand, at night: pytest --hypothesis-profile nightly
settings.register_profile("nightly", max_examples=2_000, deadline=None, print_blob=True)
settings.load_profile("ci")
