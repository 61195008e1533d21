"""The commands of `experiments`."""
