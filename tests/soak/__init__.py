"""Hours in the life of a home: `python -m tests.soak MINUTES`."""
