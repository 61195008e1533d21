"""The commands of `sessions`."""
