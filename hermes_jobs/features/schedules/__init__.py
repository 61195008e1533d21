"""Tasks that start by the clock."""
