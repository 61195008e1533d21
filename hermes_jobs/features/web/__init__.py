"""Pages read and searched."""
