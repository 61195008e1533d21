"""The commands of `schedule`."""
