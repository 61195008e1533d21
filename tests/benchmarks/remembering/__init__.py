"""Scripted people over weeks, and what is kept of them; for any model."""
