"""OpenAI's client without what takes most of its import: the classes of its API's objects, other providers'
clients, the HTTP library's own connections. Answers are decoded elsewhere, and whoever names such a thing
gets it.
"""

from __future__ import annotations

from hermes_jobs.system.lazy_packages import lazy_packages, provide

with lazy_packages("openai", "httpcore2"):
    import openai

    provide("openai._exceptions", "OpenAIError APIConnectionError APIStatusError APITimeoutError")
    provide("openai._base_client", "DefaultAioHttpClient")
    provide("openai._client", "AsyncOpenAI AsyncStream")
    provide("httpcore2._ssl", "default_ssl_context")

__all__ = ["openai"]
