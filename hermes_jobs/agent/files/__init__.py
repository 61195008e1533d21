"""Files that follow from the log and that people may edit: sync, history, and whether they were read."""
