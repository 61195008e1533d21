"""Context engines: measure and compress the conversation that a model receives."""
