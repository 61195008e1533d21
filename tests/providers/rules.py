"""What a scripted server enforces of its provider's rules, and what it attaches to its answers."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping
from typing import Any, get_type_hints

from openai.types.chat import ChatCompletionMessageParam
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from tests.model_script import Answer, Chooser, Refuse, Seen, asked_calls, completion_chunks
from tests.model_server import ModelServer
from tests.providers.contents import wrong_content, wrong_url

Json = dict[str, Any]

_MESSAGE: TypeAdapter[Any] = TypeAdapter(ChatCompletionMessageParam)
_PARAMETERS = frozenset(get_type_hints(CompletionCreateParamsStreaming))
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Refused(Exception):
    """The request breaks a rule; the text is the provider's own wording."""

    status = 400


class ChatRules:
    """What OpenAI documents of Chat Completions, and every compatible endpoint shares.

    Source: https://platform.openai.com/docs/api-reference/chat/create, and the official SDK's own types.
    `refusals` are the texts of all refusals so far; `issued` is what was attached, by the id of the first
    call of its message.
    """

    provider = "openai"
    model = "gpt-4.1"
    api = "chat"
    parameters: frozenset[str] = frozenset()
    message_fields: frozenset[str] = frozenset()
    call_fields: frozenset[str] = frozenset()
    longest_id = 40
    takes_files = False
    most_marks = 0

    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.issued: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._number = 0

    def server(self, choose: Chooser) -> ModelServer:
        """A server that enforces them."""
        return ModelServer(choose, rules=self)

    def environ(self, base_url: str) -> dict[str, str]:
        """The settings that lead to it."""
        return {
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "sk-test-0123456789",
            "HERMES_JOBS_MODEL": self.model,
            "HERMES_JOBS_MODEL__PROVIDER": self.provider,
            "HERMES_JOBS_MODEL__API": self.api,
        }

    # --- requests -------------------------------------------------------------------------------

    def refusal(self, seen: Seen) -> Refuse | None:
        """What the provider would answer to a request that breaks a rule; None where it keeps them all."""
        try:
            self.check(seen.body)
        except Refused as refused:
            self.refusals.append(str(refused))
            return Refuse(status=refused.status, body=self.error(str(refused)))
        return None

    def error(self, message: str) -> Any:
        """The body of a refusal."""
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def check(self, body: Json) -> None:
        """Raises `Refused`."""
        self.check_parameters(body)
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refused("Invalid 'messages': empty array. Expected an array with minimum length 1.")
        for at, message in enumerate(messages):
            self.check_message(at, message)
        self.check_calls(messages)
        marks = str(messages).count("'cache_control'")
        if marks > self.most_marks:
            raise Refused(
                f"A maximum of {self.most_marks} blocks with cache_control may be provided. Found {marks}."
            )

    def check_parameters(self, body: Json) -> None:
        """Nothing that the provider does not document."""
        for name in body:
            if name not in _PARAMETERS | self.parameters:
                raise Refused(f"Unrecognized request argument supplied: {name}")
        if "stream_options" in body and not body.get("stream"):
            raise Refused("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
        if "tool_choice" in body and not body.get("tools"):
            raise Refused(
                "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
            )
        if "tools" in body and not body["tools"]:
            raise Refused("Invalid 'tools': empty array. Expected an array with minimum length 1.")

    def check_message(self, at: int, message: Json) -> None:
        """One message, also by the SDK's own types."""
        try:
            consume(_MESSAGE.validate_python(message))
        except ValidationError as error:
            raise Refused(f"Invalid 'messages[{at}]': {error.errors()[0]['msg']}") from None
        self.check_parts(at, message)
        allowed = {"role", "content", "name", "refusal"} | self.message_fields
        allowed |= {"assistant": {"tool_calls"}, "tool": {"tool_call_id"}}.get(message["role"], set())
        for name in message.keys() - allowed:
            raise Refused(f"Unknown parameter: 'messages[{at}].{name}'.")
        if message["role"] == "assistant" and not message.get("content") and not message.get("tool_calls"):
            raise Refused(f"Invalid value for 'content': expected a string, got null. (messages[{at}])")

    def check_parts(self, at: int, message: Json) -> None:
        """The bytes of pictures and files; what goes along with a text comes before it.

        Sources: https://platform.openai.com/docs/guides/images-vision,
        https://platform.openai.com/docs/guides/pdf-files
        """
        parts = message.get("content")
        if message["role"] != "user" or not isinstance(parts, list):
            return
        for part in parts:
            wrong = ""
            if part["type"] == "image_url":
                wrong = wrong_url(part["image_url"]["url"], most=20_000_000)
            elif part["type"] == "file":
                wrong = self.wrong_file(part["file"])
            elif part["type"] == "input_audio":
                sound = part["input_audio"]
                wrong = wrong_content(f"audio/{sound['format']}", sound["data"], most=20_000_000)
            if wrong:
                raise Refused(f"Invalid 'messages[{at}].content': {wrong}")

    def wrong_file(self, file: Json) -> str:
        """Why a file would be refused; only some providers read files."""
        return wrong_url(file["file_data"]) if self.takes_files else "Invalid content type: file"

    def check_calls(self, messages: list[Json]) -> None:
        """Each call is answered once, right after the message that asks for it."""
        waiting: list[str] = []
        known: set[str] = set()
        for at, message in enumerate(messages):
            if message["role"] == "tool":
                if message["tool_call_id"] not in waiting:
                    raise Refused(
                        "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
                        "message with 'tool_calls'."
                    )
                waiting.remove(message["tool_call_id"])
                continue
            if waiting:
                raise Refused(
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to "
                    "each 'tool_call_id'. The following tool_call_ids did not have response messages: "
                    f"{waiting}"
                )
            for call in message.get("tool_calls", ()):
                self.check_call(at, call, known)
                waiting.append(call["id"])
        if waiting:
            raise Refused(f"The following tool_call_ids did not have response messages: {waiting}")

    def check_call(self, at: int, call: Json, known: set[str]) -> None:
        """One call: its id, its name, its arguments, and no field that the provider does not know."""
        if len(call["id"]) > self.longest_id:
            raise Refused(f"Invalid 'messages[{at}].tool_calls[0].id': string too long.")
        if call["id"] in known:
            raise Refused(f"Duplicate value for 'tool_call_id' of '{call['id']}'")
        known.add(call["id"])
        if not _NAME.fullmatch(call["function"]["name"]):
            raise Refused(
                f"Invalid 'messages[{at}].tool_calls[0].function.name': string does not match pattern."
            )
        for name in call.keys() - {"id", "type", "function"} - self.call_fields:
            raise Refused(f"Unknown parameter: 'messages[{at}].tool_calls[0].{name}'.")

    # --- answers --------------------------------------------------------------------------------

    def attach(self, seen: Seen, calls: list[Json]) -> Iterable[Json]:
        """The deltas that come before an answer's text; `calls` may be given fields of their own."""
        return ()

    def chunks(self, seen: Seen, answer: Answer) -> list[Json]:
        """The answer as the provider streams it, with calls of ids that no other answer has."""
        calls = [{**each, "id": self.call_id()} for each in asked_calls(seen, answer)]
        before = list(self.attach(seen, calls))
        return completion_chunks(seen, answer, calls, before)

    def call_id(self) -> str:
        """The id of the next call."""
        return f"call_{type(self).__name__}_{self.number()}"

    def thought(self) -> str:
        """A thought that no other answer has, with signs that take more than one unit of UTF-16."""
        return f"Thought {self.number()}: 考える 🤔 «ok»"

    def number(self) -> int:
        """The next number."""
        with self._lock:
            self._number += 1
            return self._number


def pieces(text: str, size: int = 5) -> list[str]:
    """The text in pieces; characters beyond the first plane are cut in two, as JSON allows."""
    units = text.encode("utf-16-be")
    cut = [units[at : at + 2 * size] for at in range(0, len(units), 2 * size)]
    return [each.decode("utf-16-be", "surrogatepass") for each in cut]


def assistants(body: Json) -> list[Json]:
    """The request's assistant messages that ask for tools."""
    return [each for each in body["messages"] if each.get("tool_calls")]


def consume(value: Any) -> None:
    """Look at all of a validated value: pydantic checks what it has to iterate only then."""
    if isinstance(value, Mapping):
        for each in value.values():
            consume(each)
    elif value is not None and not isinstance(value, str | bytes) and isinstance(value, Iterable):
        for each in value:
            consume(each)
