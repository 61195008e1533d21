"""Several models asked for one answer, and a colleague consulted."""
