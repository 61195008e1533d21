"""The log: all events in order, the due steps that follow from them, and the registered workers."""
