"""Reviews of finished turns: they save memory entries and skills."""
