"""What is remembered between sessions: in files that users read and edit, and by others beside them."""
