"""Answers on their way to where they were asked for: one courier a kind of target."""
