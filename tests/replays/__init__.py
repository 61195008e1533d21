"""Replays: what they ask, and that they run nothing."""
