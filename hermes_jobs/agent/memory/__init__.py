"""What is remembered between sessions: in files that people read and edit, and by others beside them."""
