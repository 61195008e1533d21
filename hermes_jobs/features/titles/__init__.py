"""Titles of sessions: unique names, given by a person or a model."""
