"""Anthropic's Messages API as a model. Rendering and parsing are pure; only `messages_client` imports the
SDK.
"""
