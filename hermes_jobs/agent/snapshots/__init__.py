"""Snapshots of files: what file tools replaced, kept in the home so that it can be restored."""
