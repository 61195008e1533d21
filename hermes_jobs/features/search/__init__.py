"""Search in what was said."""
