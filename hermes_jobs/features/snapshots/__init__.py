"""Snapshots of files: contents replaced by file tools, stored in the home so that they can be restored."""
