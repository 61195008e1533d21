"""What fits a turn's text, found by words and vectors."""
