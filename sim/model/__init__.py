"""The shared vocabulary: data without rules."""
