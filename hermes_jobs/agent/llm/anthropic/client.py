"""The Messages API as the engine's `Model`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hermes_jobs.agent.llm.client import AsyncModel, EndpointModel
from hermes_jobs.agent.llm.dialect import BY_NAME, ApiOptions
from hermes_jobs.agent.llm.windows import Windows, known_window

ANTHROPIC_URL = "https://api.anthropic.com"


class AnthropicModel(EndpointModel):
    """An endpoint of the Messages API; answers are streamed.

    `base_url` None is Anthropic's own; `idle_timeout`: seconds without any data, `timeout`: for a whole call;
    `windows` learns from refusals. `watch` is called with the HTTP client. anthropic is imported by `warm` or
    the first call.
    """

    def __init__(
        self,
        *,
        api_key: str | None,
        base_url: str | None = None,
        idle_timeout: float = 120.0,
        timeout: float | None = None,
        manner: ApiOptions = BY_NAME,
        windows: Windows | None = None,
        watch: Callable[[Any], None] | None = None,
    ) -> None:
        url = messages_url(base_url)
        known = windows or Windows(override=None, known=lambda model: known_window(model, url))

        def make(key: str) -> AsyncModel:
            from hermes_jobs.agent.llm.anthropic.messages_client import MessagesClient
            from hermes_jobs.agent.llm.anthropic.request import RequestOptions

            marks = None if manner.prompt_cache == "off" else manner.cache_ttl
            return MessagesClient(
                api_key=key,
                base_url=url,
                idle_timeout=idle_timeout,
                timeout=timeout,
                windows=known,
                conduct=RequestOptions(
                    marks=marks,
                    insists_on_marks=manner.prompt_cache == "on",
                    effort=manner.reasoning_effort,
                ),
                watch=watch,
            )

        super().__init__(make, api_key=api_key)


def messages_url(base_url: str | None) -> str:
    """The address before `/v1/messages`; users often append the `/v1` of other APIs."""
    return (base_url or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")
