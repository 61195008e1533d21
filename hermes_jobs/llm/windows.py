"""How much a model takes at a time: what is known, what the settings say, and what refusals teach. Tokens."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

from hermes_jobs.domain.messages import AssistantMessage, Message, UserMessage
from hermes_jobs.domain.tokens import CHARACTERS_A_TOKEN, payload_weight, weight
from hermes_jobs.domain.windows import LearnedWindow
from hermes_jobs.engine.ports import ModelError, ModelRequest

UNKNOWN_WINDOW = 128_000
STEPS = (128_000, 64_000, 32_000, 16_000, 8_000)
"""What is tried next, where a refusal names no window."""

TOKENS_A_MESSAGE = 4  # its role and what parts it from the next

_VAGUE = re.compile(
    r"400: (?:error|bad request|invalid (?:request|argument)|provider returned error|no message)\W*"
)


def known_window(model: str, base_url: str | None) -> int | None:
    """The window by the list in the package `genai-prices`, at this endpoint, else wherever it is served."""
    import genai_prices

    for name, url in ((model, base_url), (model, None), (model.rpartition("/")[2], None)):
        try:
            found = genai_prices.calc_price(genai_prices.Usage(), name, provider_api_url=url)
        except (LookupError, ValueError):
            continue
        if found.model.context_window:
            return found.model.context_window
    return None


def nothing_recalled(model: str) -> LearnedWindow | None:
    """Where no windows are remembered."""


class Windows:
    """The windows of one endpoint's models. Safe for many threads.

    `override` is `model.context_length`; `known` says a model's window, null where it does not know. What
    refusals teach holds for this process; `recalled` are windows that providers named to any process. One of
    those is void where something else is assumed by now: a person has looked at it, or the list has.
    """

    def __init__(
        self,
        *,
        override: int | None,
        known: Callable[[str], int | None],
        recalled: Callable[[str], LearnedWindow | None] = nothing_recalled,
    ) -> None:
        self._override = override
        self._known = known
        self._recalled = recalled
        self._lock = threading.Lock()
        self._learned: dict[str, int] = {}
        self._assumed: dict[str, int] = {}

    def of(self, model: str) -> int:
        """The window that counts for the model."""
        recalled, assumed = self._recalled(model), self.assumed(model)
        window = recalled.window if recalled is not None and recalled.assumed == assumed else assumed
        with self._lock:
            return min(window, self._learned.get(model, window))

    def assumed(self, model: str) -> int:
        """The window that the model has as far as nobody has refused anything."""
        with self._lock:
            if model not in self._assumed:
                self._assumed[model] = self._override or self._known(model) or UNKNOWN_WINDOW
            return self._assumed[model]

    def exceeded(self, model: str, named: int | None) -> int:
        """The window from now on, after a prompt was refused as too long; `named` is what the refusal says.

        A window that was named counts when it is smaller; where none was, the next lower step is assumed.
        """
        window = self.of(model)
        smaller = next((step for step in STEPS if step < window), window) if named is None else named
        if not 0 < smaller < window:
            return window
        with self._lock:
            self._learned[model] = min(smaller, self._learned.get(model, smaller))
            return self._learned[model]


def estimated_tokens(request: ModelRequest) -> int:
    """About how many tokens the request is: system prompt, messages and tools.

    Called before every model call: it weighs texts, and renders nothing.
    """
    said = sum(map(_weight, request.messages), weight(request.system_prompt))
    tools = sum(spec.num_characters for spec in request.offered)
    return (said + tools) // CHARACTERS_A_TOKEN + TOKENS_A_MESSAGE * (len(request.messages) + 1)


def _weight(message: Message) -> int:
    # Of thousands of messages before every call: matching them by class takes four times as long.
    if isinstance(message, UserMessage):
        return weight(message.content)
    if isinstance(message, AssistantMessage):
        asked = sum(weight(call.name) + weight(call.arguments) for call in message.tool_calls)
        return weight(message.content) + asked + payload_weight(message)
    return weight(message.name) + weight(message.content)


def is_hidden_overflow(error: ModelError, request: ModelRequest, windows: Windows) -> bool:
    """Whether a refusal is best understood as a prompt that is too long, although it does not say so.

    A body that is too large for the endpoint; or no reason at all, and more than half the window is sent.
    """
    if error.kind == "payload_too_large":
        return True
    vague = _VAGUE.fullmatch(error.message.lower()) is not None
    return vague and estimated_tokens(request) > windows.of(request.model) / 2
