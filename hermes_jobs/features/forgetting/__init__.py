"""Texts removed from the log and from the home's files."""
