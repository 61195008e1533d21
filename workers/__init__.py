"""Processes that work: everything that carries due steps to the engine."""
