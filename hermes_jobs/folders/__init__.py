"""Files that follow from the log and that users may edit: sync, history, and whether they were read."""
