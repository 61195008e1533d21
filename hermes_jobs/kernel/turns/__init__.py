"""The aggregate "session": its state, its turns, and the rules by which they change."""
