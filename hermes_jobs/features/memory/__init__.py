"""The memory across sessions: entries in files that users read and edit, and external providers."""
