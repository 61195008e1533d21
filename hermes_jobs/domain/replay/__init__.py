"""Recorded model calls that are asked again: their plan, their outcomes, and what differs."""
