"""The handlers of its steps."""
