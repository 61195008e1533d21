"""Sessions read again at night, for what should be remembered."""
