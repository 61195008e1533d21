"""The engine's model port: OpenAI-compatible endpoints, Claude, the rehearsal, and the scripted fake."""
