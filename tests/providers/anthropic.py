"""Anthropic as one of the families: Claude thinks before each answer, within a budget or as it decides."""

from __future__ import annotations

from tests.model_script import Chooser
from tests.providers.anthropic_server import AnthropicServer


class Anthropic:
    """Claude 4.5, which thinks within a budget. See `anthropic_server` for the rules and their sources."""

    provider = "anthropic"
    model = "claude-sonnet-4-5"

    def __init__(self) -> None:
        self._server: AnthropicServer | None = None

    @property
    def refusals(self) -> list[str]:
        """What requests have violated so far."""
        return self._server.violations if self._server is not None else []

    def server(self, choose: Chooser) -> AnthropicServer:
        """The server, which thinks before it answers."""
        self._server = AnthropicServer(choose, thinks="Let me see. 想")
        return self._server

    def environ(self, base_url: str) -> dict[str, str]:
        """The settings that lead to it."""
        return {
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": "sk-ant-test-0123456789",
            "HERMES_JOBS_MODEL": self.model,
            "HERMES_JOBS_MODEL__REASONING_EFFORT": "medium",
        }


class AdaptiveClaude(Anthropic):
    """Claude 4.8, which decides itself how much it thinks."""

    model = "claude-opus-4-8"


class BindingClaude(Anthropic):
    """Claude 5.5, which refuses what it thought behind anything but what it was thought after."""

    model = "claude-opus-5-5"
