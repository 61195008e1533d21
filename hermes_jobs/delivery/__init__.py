"""Answers on their way to where they were asked for: one channel a kind of target."""
