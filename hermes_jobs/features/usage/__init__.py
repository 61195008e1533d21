"""What was spent, by turn, model and day, and the report of it."""
