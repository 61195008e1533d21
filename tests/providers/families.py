"""The rules of the providers that speak Chat Completions, each with its source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from tests.model_script import Seen
from tests.providers.rules import ChatRules, Json, Refused, assistants, pieces


class OpenAI(ChatRules):
    """OpenAI's reasoning models.

    Source: https://platform.openai.com/docs/guides/reasoning: `max_completion_tokens` instead of
    `max_tokens`, no temperature; efforts by name.
    """

    takes_files = True
    model = "gpt-5-mini"

    def check_parameters(self, body: Json) -> None:
        super().check_parameters(body)
        if "max_tokens" in body:
            raise Refused(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead."
            )
        if body.get("temperature", 1) != 1:
            raise Refused("Unsupported value: 'temperature' does not support 0.1 with this model.")


class DeepSeek(ChatRules):
    """DeepSeek's thinking mode, which is on by default.

    Source: https://api-docs.deepseek.com/guides/thinking_mode: a message with tool calls carries its
    reasoning_content in all later requests, else 400; elsewhere it is ignored. It may not be empty:
    https://github.com/NousResearch/hermes-agent/pull/17341.
    """

    provider = "deepseek"
    model = "deepseek-v4-pro"
    parameters = frozenset({"thinking"})
    message_fields = frozenset({"reasoning_content"})

    def check(self, body: Json) -> None:
        super().check(body)
        if body.get("thinking") == {"type": "disabled"}:
            return
        for message in assistants(body):
            sent, issued = message.get("reasoning_content"), self.issued.get(message["tool_calls"][0]["id"])
            if not sent or (issued is not None and sent != issued):
                raise Refused("The `reasoning_content` in the thinking mode must be passed back to the API.")

    def attach(self, seen: Seen, calls: list[Json]) -> Iterable[Json]:
        thought = self.thought()
        if calls:
            self.issued[calls[0]["id"]] = thought
        return [{"reasoning_content": each} for each in pieces(thought)]


class Gemini(ChatRules):
    """Gemini 3 behind Google's OpenAI-compatible endpoint.

    Source: https://ai.google.dev/gemini-api/docs/thought-signatures: the first call of a message carries its
    signature unchanged; calls of other models carry a documented placeholder. Unknown names are refused:
    https://ai.google.dev/gemini-api/docs/openai.
    """

    provider = "gemini"
    model = "gemini-3-pro-preview"
    call_fields = frozenset({"extra_content"})
    placeholders = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})

    def check_parameters(self, body: Json) -> None:
        super().check_parameters(body)
        for name in body.keys() & {"prompt_cache_key", "store", "metadata"}:
            raise Refused(f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.')

    def check(self, body: Json) -> None:
        super().check(body)
        for message in assistants(body):
            first, *others = message["tool_calls"]
            self._check_signature(first, must=True)
            for call in others:
                self._check_signature(call, must=False)

    def _check_signature(self, call: Json, *, must: bool) -> None:
        signature = call.get("extra_content", {}).get("google", {}).get("thought_signature")
        if signature is None and must:
            raise Refused(
                "Function call is missing a thought_signature in functionCall parts. This is required for "
                "tools to work correctly, and missing thought_signature may lead to degraded model "
                "performance."
            )
        if signature not in {None, self.issued.get(call["id"])} | self.placeholders:
            raise Refused("Corrupted thought signature.")

    def attach(self, seen: Seen, calls: list[Json]) -> Iterable[Json]:
        if calls:
            signature = f"c2lnbmF0dXJl{self.number()}=="
            calls[0]["extra_content"] = {"google": {"thought_signature": signature}}
            self.issued[calls[0]["id"]] = signature
        return ()


class OpenRouter(ChatRules):
    """OpenRouter with Claude behind it.

    Sources: https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks: the entries
    come back unmodified and in order; https://openrouter.ai/docs/features/prompt-caching: at most four marks.
    """

    takes_files = True
    provider = "openrouter"
    model = "anthropic/claude-sonnet-4.5"
    parameters = frozenset({"reasoning", "provider", "usage"})
    message_fields = frozenset({"reasoning", "reasoning_details"})
    most_marks = 4

    def check(self, body: Json) -> None:
        super().check(body)
        for message in assistants(body):
            issued = self.issued.get(message["tool_calls"][0]["id"])
            if issued is not None and message.get("reasoning_details") != issued:
                raise Refused("messages.1.content.0: Invalid `signature` in `thinking` block")
            if issued is None and "reasoning_details" in message:
                raise Refused("messages.1.content.0: Invalid `signature` in `thinking` block")

    def error(self, message: str) -> Json:
        raw = f'{{"type":"error","error":{{"type":"invalid_request_error","message":"{message}"}}}}'
        told = {"raw": raw, "provider_name": "Anthropic"}
        return {"error": {"message": "Provider returned error", "code": 400, "metadata": told}}

    def attach(self, seen: Seen, calls: list[Json]) -> Iterable[Json]:
        thought, number = self.thought(), self.number()
        base = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
        encrypted = {"type": "reasoning.encrypted", "data": f"RQ{number}==", "id": f"re_{number}", "index": 1}
        if calls:
            whole = {**base, "text": thought, "signature": f"Sig{number}=="}
            self.issued[calls[0]["id"]] = [whole, encrypted]
        parts = [{**base, "text": each} for each in pieces(thought)]
        parts += [{**base, "signature": f"Sig{number}=="}, encrypted]
        return [{"reasoning": each.get("text"), "reasoning_details": [each]} for each in parts]


class Moonshot(DeepSeek):
    """Kimi's thinking models.

    Source: https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model: all reasoning_content stays in
    the context of a loop of tool calls.
    """

    provider = "custom"
    model = "kimi-k2-thinking"

    def check(self, body: Json) -> None:
        ChatRules.check(self, body)
        for at, message in enumerate(body["messages"]):
            if message.get("tool_calls") and not message.get("reasoning_content"):
                raise Refused(
                    "thinking is enabled but reasoning_content is missing in assistant tool call message at "
                    f"index {at}"
                )


class Mistral(ChatRules):
    """Mistral, which refuses what it does not know.

    Source: https://github.com/mistralai/mistral-common, protocol/instruct/validator.py: ids of nine letters
    and digits, no user message after results of tools, roles in order. `stream_options` is refused (422
    `extra_forbidden`); the last chunk has the usage in any case: https://docs.mistral.ai/api/
    """

    provider = "mistral"
    always_reports = True
    model = "devstral-medium-latest"

    def call_id(self) -> str:
        return f"m{self.number():08d}"

    def check_parameters(self, body: Json) -> None:
        super().check_parameters(body)
        known = {
            "model",
            "messages",
            "tools",
            "tool_choice",
            "max_tokens",
            "temperature",
            "stream",
        }
        for name in body.keys() - known - {"reasoning_effort"}:
            raise Refused(f"body.{name}: Extra inputs are not permitted")

    def check_message(self, at: int, message: Json) -> None:
        for name in message.keys() - {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}:
            raise Refused(f"body.messages.{at}.{message['role']}.{name}: Extra inputs are not permitted")
        super().check_message(at, message)

    def check_call(self, at: int, call: Json, known: set[str]) -> None:
        super().check_call(at, call, known)
        if not re.fullmatch("[a-zA-Z0-9]{9}", call["id"]):
            raise Refused(f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9.")

    def check_calls(self, messages: list[Json]) -> None:
        super().check_calls(messages)
        allowed = {
            "system": {"user"},
            "user": {"assistant"},
            "assistant": {"user", "tool"},
            "tool": {"assistant", "tool"},
        }
        for before, after in pairwise(messages):
            if after["role"] not in allowed[before["role"]]:
                raise Refused(f"Unexpected role '{after['role']}' after role '{before['role']}'")
        if messages[-1]["role"] not in {"user", "tool"}:
            raise Refused("Expected last role User or Tool (or Assistant with prefix True) for serving")


class Local(ChatRules):
    """A model behind vLLM or llama.cpp whose template thinks between tool calls.

    Sources: https://docs.vllm.ai/en/latest/features/reasoning_outputs.html (the field `reasoning`, taken back
    as it was given); templates that raise "Conversation roles must alternate".
    """

    provider = "custom"
    model = "gpt-oss-20b"
    message_fields = frozenset({"reasoning"})

    def check(self, body: Json) -> None:
        super().check(body)
        roles = [each["role"] for each in body["messages"] if each["role"] != "tool"]
        for before, after in pairwise(roles):
            if before == after == "user":
                raise Refused("Conversation roles must alternate user/assistant/user/assistant/...")
        for message in assistants(body):
            issued = self.issued.get(message["tool_calls"][0]["id"])
            if message.get("reasoning") != issued:
                raise Refused(f"reasoning of an assistant message was changed: {message.get('reasoning')!r}")

    def attach(self, seen: Seen, calls: list[Json]) -> Iterable[Json]:
        thought = self.thought()
        if calls:
            self.issued[calls[0]["id"]] = thought
        return [{"reasoning": each} for each in pieces(thought)]
