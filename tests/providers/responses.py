"""The rules of OpenAI's Responses API without storage."""

from __future__ import annotations

from typing import get_type_hints

from openai.types.responses import ResponseInputItemParam
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import TypeAdapter, ValidationError

from tests.model_responses import output_of, response_events
from tests.model_script import Answer, Seen
from tests.providers.rules import ChatRules, Json, Refused, consume

_ITEM: TypeAdapter[object] = TypeAdapter(ResponseInputItemParam)
_PARAMETERS = frozenset(get_type_hints(ResponseCreateParamsStreaming))


class Responses(ChatRules):
    """Reasoning items come encrypted where they are asked for, and go back before the calls they came with.

    Sources: https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items,
    https://platform.openai.com/docs/api-reference/responses/create
    """

    provider = "openai"
    model = "gpt-5-mini"
    api = "responses"

    def check(self, body: Json) -> None:
        for name in body.keys() - _PARAMETERS:
            raise Refused(f"Unknown parameter: '{name}'.")
        if body.get("store") is not False or "reasoning.encrypted_content" not in body.get("include", ()):
            raise Refused("This organization stores nothing: encrypted reasoning has to be included.")
        if body.get("temperature") is not None or "max_tokens" in body:
            raise Refused("Unsupported parameter: 'temperature' is not supported with this model.")
        calls: set[str] = set()
        reasoning: Json | None = None
        for at, item in enumerate(body["input"]):
            try:
                consume(_ITEM.validate_python(item))
            except ValidationError as error:
                raise Refused(f"Invalid 'input[{at}]': {error.errors()[0]['msg']}") from None
            self._check_reasoning(item, reasoning)
            reasoning = (
                item if item["type"] == "reasoning" else reasoning if item["type"] == "message" else None
            )
            if item["type"] == "function_call":
                if item["call_id"] in calls or len(item["call_id"]) > 64:
                    raise Refused(f"Invalid 'input[{at}].call_id'.")
                calls.add(item["call_id"])
            elif item["type"] == "function_call_output":
                if item["call_id"] not in calls:
                    raise Refused(
                        f"No tool call found for function call output with call_id {item['call_id']}."
                    )
                calls.remove(item["call_id"])
            elif calls and item.get("role") == "user":
                raise Refused(f"No tool output found for function call {min(calls)}.")
        if calls:
            raise Refused(f"No tool output found for function call {min(calls)}.")

    def _check_reasoning(self, item: Json, before: Json | None) -> None:
        if item["type"] == "reasoning" and item not in self.issued.values():
            raise Refused(
                f"The encrypted content {item.get('encrypted_content', '')[:9]} could not be verified."
            )
        if item["type"] != "function_call" or item["call_id"] not in self.issued:
            return
        if before != self.issued[item["call_id"]]:
            raise Refused(
                f"Item '{item.get('id')}' of type 'function_call' was provided without its required "
                "'reasoning' item."
            )

    def chunks(self, seen: Seen, answer: Answer) -> list[Json]:
        number = self.number()
        reasoning = {
            "id": f"rs_{number}",
            "type": "reasoning",
            "summary": [],
            "encrypted_content": f"gAAAA{number}==",
        }
        items = output_of(seen, answer)
        calls = [item for item in items if item["type"] == "function_call"]
        for at, item in enumerate(calls):
            item.update(id=f"fc_{number}_{at}", call_id=f"call_{number}_{at}", status="completed")
        for item in items:
            if item["type"] == "message":
                item.update(
                    id=f"msg_{number}", status="completed", phase="commentary" if calls else "final_answer"
                )
        if calls:
            self.issued[calls[0]["call_id"]] = reasoning
        return response_events(seen, answer, [reasoning, *items])
