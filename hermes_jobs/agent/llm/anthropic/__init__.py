"""Anthropic's Messages API as a model. What renders and reads is pure; `talk` alone imports the client."""
