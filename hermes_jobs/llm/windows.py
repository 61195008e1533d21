"""Context windows of models: from lists, settings and refusals. Tokens."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Literal

import msgspec

from hermes_jobs.kernel.engine.budget_guard import SHORTEST_ANSWER
from hermes_jobs.kernel.engine.ports import ModelError, ModelRequest
from hermes_jobs.kernel.streams.context_windows import LEAST_WINDOW, LearnedWindow
from hermes_jobs.kernel.turns.messages import (
    AssistantMessage,
    Message,
    UserMessage,
    attached_weight,
    payload_weight,
)
from hermes_jobs.llm.errors import model_error
from hermes_jobs.llm.limits import names_answer, numbers_in
from hermes_jobs.text.tokens import CHARACTERS_A_TOKEN, token_weight

UNKNOWN_WINDOW = 128_000
STEPS = (128_000, 64_000, 32_000, 16_000, 8_000, 4_000, LEAST_WINDOW)
"""The windows to try next if a refusal names none."""

TOKENS_A_MESSAGE = 4  # its role and its separators

_VAGUE = re.compile(
    r"400: (?:error|bad request|invalid (?:request|argument)|provider returned error|no message)\W*"
)
_REFUSED = re.compile(r"4(?:00|13|22): ")
_ESTIMATE = (0.5, 2.0)
"""The accepted range of a provider's token count, as multiples of our estimate."""


def known_window(model: str, base_url: str | None) -> int | None:
    """The window in the list of the package `genai-prices`, at this endpoint, else at any provider."""
    import genai_prices

    for name, url in ((model, base_url), (model, None), (model.rpartition("/")[2], None)):
        try:
            price = genai_prices.calc_price(genai_prices.Usage(), name, provider_api_url=url)
        except (LookupError, ValueError):
            continue
        if price.model.context_window:
            return price.model.context_window
    return None


class RecalledWindow(msgspec.Struct, frozen=True):
    """The stored window of a model, if any, and how often a user has reset it."""

    learned: LearnedWindow | None = None
    forgotten: int = 0


NO_RECALL = RecalledWindow()
Source = Literal["setting", "server", "refusal", "list", "default"]


class Window(msgspec.Struct, frozen=True):
    """A window in tokens and its source: `setting` is `model.context_length`, `server` the server's own word,
    `refusal` a provider's message (`at` of both seconds since the epoch, None if in this process), `list` the
    list of models, `default` if unknown.
    """

    tokens: int
    source: Source
    at: float | None = None


class Windows:
    """The windows of one endpoint's models. Safe for many threads.

    `override` is `model.context_length`; `known_window` returns a model's window, None if unknown. Windows
    learned from refusals are valid in this process; `recalled` returns those that providers named to any
    process.
    They apply only if the settings set no window, while the assumed window is unchanged, and until a user
    resets them.
    """

    def __init__(
        self,
        *,
        override: int | None,
        known_window: Callable[[str], int | None],
        recalled: Callable[[str], RecalledWindow] = lambda model: NO_RECALL,
        now: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`now` returns seconds since the epoch."""
        self._override = override
        self._known_window = known_window
        self._recalled = recalled
        self._now = now
        self._lock = threading.Lock()
        self._learned: dict[str, tuple[int, int]] = {}  # the window, and the count of resets before it
        self._served: dict[str, tuple[int, int]] = {}  # the same, of windows that servers name
        self._assumed: dict[str, Window] = {}

    def of(self, model: str) -> int:
        """The window in use for the model."""
        return self.window(model).tokens

    def window(self, model: str) -> Window:
        """The window in use for the model, with its source."""
        recalled, window = self._recalled(model), self._first(model)
        learned = recalled.learned
        if (
            window.source != "setting"
            and learned is not None
            and learned.counts(self._now())
            and learned.assumed == window.tokens
        ):
            window = Window(learned.window, learned.source, learned.at)
        with self._lock:
            here, served = self._learned.get(model), self._served.get(model)
        if served is not None and served[1] == recalled.forgotten and window.source != "setting":
            window = Window(served[0], "server")
        if here is not None and here[1] == recalled.forgotten and here[0] < window.tokens:
            return Window(here[0], "refusal")
        return window

    def assumed(self, model: str) -> int:
        """The model's window before any refusal."""
        return self._first(model).tokens

    def _first(self, model: str) -> Window:
        with self._lock:
            if model not in self._assumed:
                self._assumed[model] = self._assume(model)
            return self._assumed[model]

    def _assume(self, model: str) -> Window:
        if self._override is not None:
            return Window(self._override, "setting")
        limit = self._known_window(model)
        return Window(UNKNOWN_WINDOW, "default") if limit is None else Window(limit, "list")

    def serves(self, model: str, window: int) -> None:
        """The server says that it serves this window, in tokens; what a refusal named before is not used."""
        if window >= LEAST_WINDOW:
            forgotten = self._recalled(model).forgotten
            with self._lock:
                self._served[model] = (window, forgotten)
                self._learned.pop(model, None)

    def exceeded(self, model: str, limit: int | None, size: int | None = None) -> int:
        """The new window, after a prompt of about `size` tokens was refused as too long; `limit` is the limit
        in the refusal.

        A named window applies if it is smaller. If none, or an implausible one, was named, the next smaller
        step below the window and the prompt is assumed.
        """
        window = self.of(model)
        if limit is None or limit < LEAST_WINDOW:
            below = window if size is None else min(window, size)
            limit = next((step for step in STEPS if step < below), min(window, LEAST_WINDOW))
        if limit < window:
            forgotten = self._recalled(model).forgotten
            with self._lock:
                self._learned[model] = (limit, forgotten)
        return self.of(model)


def estimated_tokens(request: ModelRequest) -> int:
    """The estimated tokens of the request: system prompt, messages and tools.

    Called before every model call: it counts characters, and renders nothing.
    """
    tokens = sum(map(_weight, request.messages), token_weight(request.system_prompt))
    tools = sum(spec.num_characters for spec in request.offered)
    return (tokens + tools) // CHARACTERS_A_TOKEN + TOKENS_A_MESSAGE * (len(request.messages) + 1)


def _weight(message: Message) -> int:
    # Called for thousands of messages: matching them by class takes four times as long.
    if isinstance(message, AssistantMessage):
        calls = sum(token_weight(call.name) + token_weight(call.arguments) for call in message.tool_calls)
        return token_weight(message.content) + calls + payload_weight(message)
    weight = token_weight(message.content) + attached_weight(message)
    return weight if isinstance(message, UserMessage) else weight + token_weight(message.name)


def learned_from(error: ModelError, request: ModelRequest, windows: Windows) -> ModelError:
    """The error with its kind corrected by the request's size; the windows are updated.

    A body too large for the endpoint is a prompt that is too long; so is a request of more than half the
    window that is refused without a reason. A refusal of unknown wording, in any language, is about a limit
    if it names the request's size, or the answer's or its parameter, and a smaller number.
    """
    size = estimated_tokens(request)
    if error.kind == "payload_too_large" or (
        _VAGUE.fullmatch(error.message.lower()) and size > windows.of(request.model) / 2
    ):
        error = model_error("context_overflow", error.message, usage=error.usage)
    elif error.kind == "bad_request" and _REFUSED.match(error.message):
        error = _in_numbers(error, request, size)
    if error.kind == "context_overflow":
        windows.exceeded(request.model, error.limit, size)
    return error


def _in_numbers(error: ModelError, request: ModelRequest, size: int) -> ModelError:
    """A refusal that names the request's sizes, or the answer's parameter, beside a smaller number."""
    numbers = set(numbers_in(error.message[len("400:") :]))
    maximum = request.max_tokens or 0
    max_length = max((number for number in numbers if SHORTEST_ANSWER <= number < maximum), default=None)
    if max_length is not None and (maximum in numbers or names_answer(error.message.lower())):
        return model_error("output_limit", error.message, limit=max_length, usage=error.usage)
    sizes = [number for number in numbers if size * _ESTIMATE[0] <= number <= size * _ESTIMATE[1]]
    window = max(
        (number for number in numbers if LEAST_WINDOW <= number < max(sizes, default=0)), default=None
    )
    if window is not None:
        return model_error("context_overflow", error.message, limit=window, usage=error.usage)
    return error
