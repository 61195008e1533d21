"""The commands of `skills`, and skills named for a turn."""
