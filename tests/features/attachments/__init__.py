"""Pictures and documents beside a message."""
