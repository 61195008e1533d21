"""The log: every fact in order, the due work that follows from it, and who is at work."""
