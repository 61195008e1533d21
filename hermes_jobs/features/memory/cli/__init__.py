"""The commands of `memory`."""
