"""Handles commands and runs steps: load, decide, claim, run, append. Depends on its ports only."""
