"""The engine's model port: OpenAI-compatible endpoints, the rehearsal, and the scripted fake."""
