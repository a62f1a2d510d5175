"""Coverage-guided fuzzing of what the embedded API server reads: `python -m tests.fuzz TARGET --seconds N`."""
