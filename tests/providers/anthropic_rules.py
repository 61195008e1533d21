"""What the Messages API refuses of a request, each rule with its source.

A rule is a function of the request that yields the messages of `invalid_request_error`s; `violations` runs
them all. Rules that need to know what was answered before stand in `anthropic_thoughts`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from hermes_jobs.llm.anthropic.abilities import abilities
from tests.providers.contents import wrong_content

Json = dict[str, Any]
Rule = Callable[[Json], Iterator[str]]

ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ARGUMENT_NAME = r"^[a-zA-Z0-9_.-]{1,64}$"
THOUGHTS = {"thinking", "redacted_thinking"}
FIELDS = {
    "text": {"type", "text", "cache_control", "citations"},
    "tool_use": {"type", "id", "name", "input", "cache_control"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "cache_control"},
    "thinking": {"type", "thinking", "signature"},
    "redacted_thinking": {"type", "data"},
    "image": {"type", "source", "cache_control"},
    "document": {"type", "source", "title", "context", "citations", "cache_control"},
}
USERS = {"tool_result", "image", "document"}


@cache
def request_type() -> type:
    """What the client sends, as it types that itself; importing it takes seconds of CPU time."""
    from anthropic.types.message_create_params import MessageCreateParamsStreaming

    return MessageCreateParamsStreaming


@cache
def request_fields() -> frozenset[str]:
    """The parameters that it knows."""
    return frozenset(get_type_hints(request_type()))


@cache
def request_adapter() -> TypeAdapter[Any]:
    """What checks a request against the type."""
    return TypeAdapter(request_type())


def violations(body: Json) -> list[str]:
    """Everything that the API would refuse, the first first. Where the form is wrong, that alone."""
    form = [*required_fields(body), *unknown_parameters(body)] or [*sdk_types(body)]
    return form or [said for rule in RULES for said in rule(body)]


def required_fields(body: Json) -> Iterator[str]:
    """`model`, `max_tokens` and `messages` are required.

    Source: https://platform.claude.com/docs/en/api/messages/create
    """
    yield from (f"{name}: Field required" for name in ("model", "max_tokens", "messages") if name not in body)


def unknown_parameters(body: Json) -> Iterator[str]:
    """What the reference does not name is refused; since version 2026-10-21 sampling parameters are too.

    Source: https://platform.claude.com/docs/en/api/migration-2026-10-21
    """
    yield from (f"{name}: Extra inputs are not permitted" for name in body if name not in request_fields())


def sdk_types(body: Json) -> Iterator[str]:
    """The request fits the client's own types, block by block. Source: `anthropic.types`."""
    try:
        _read(request_adapter().validate_python(body, strict=False))
    except ValidationError as error:
        first = error.errors()[0]
        yield f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def roles_alternate(body: Json) -> Iterator[str]:
    """Conversations begin with the user, alternate, and end with the user.

    Prefilled answers are refused since Claude 4.6. Source: https://platform.claude.com/docs/en/api/errors
    """
    roles = [message["role"] for message in body["messages"]]
    if not roles:
        yield "messages: at least one message is required"
        return
    if roles[0] != "user":
        yield 'messages: first message must use the "user" role'
    for one, following in pairwise(roles):
        if one == following:
            yield (
                'messages: roles must alternate between "user" and "assistant", but found multiple '
                f'"{one}" roles in a row'
            )
    if roles[-1] != "user":
        yield (
            "This model does not support assistant message prefill. "
            "The conversation must end with a user message."
        )


def blocks_are_known(body: Json) -> Iterator[str]:
    """Blocks have the fields of their type and no others.

    Source: https://platform.claude.com/docs/en/api/messages/create
    """
    for at, block, role in blocks(body):
        kind = block.get("type", "")
        if kind not in FIELDS or (kind in USERS) != (role == "user" and kind != "text"):
            yield f"{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            continue
        yield from (
            f"{at}.{kind}.{name}: Extra inputs are not permitted" for name in block.keys() - FIELDS[kind]
        )


def attachments_are_taken(body: Json) -> Iterator[str]:
    """Pictures of four formats and at most 5 MB, PDF documents, and 32 MB in all.

    Sources: https://platform.claude.com/docs/en/build-with-claude/vision,
    https://platform.claude.com/docs/en/build-with-claude/pdf-support
    """
    sources = [(at, block["type"], block["source"]) for at, block in with_results(body) if "source" in block]
    for at, kind, source in sources:
        wrong = wrong_content(source["media_type"], source["data"], most=5_242_880 if kind == "image" else 0)
        if wrong or (kind == "document") != (source["media_type"] == "application/pdf"):
            yield f"{at}.{kind}.source: {wrong or 'unsupported media type'}"
    if sum(len(source["data"]) for _, _, source in sources) > 32_000_000:
        yield "Request exceeds the maximum size"


def errors_are_texts(body: Json) -> Iterator[str]:
    """A result that is an error has text alone.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    for at, block, _ in blocks(body):
        if block.get("is_error") and isinstance(block["content"], list):
            yield from (
                f"{at}: all content must be type `text` if `is_error` is true"
                for within in block["content"]
                if within["type"] != "text"
            )


def texts_are_not_empty(body: Json) -> Iterator[str]:
    """Neither empty texts nor such of white space alone, and none at the end of a final assistant message.

    Source: https://platform.claude.com/docs/en/api/errors
    """
    texts = [(at, block) for at, block in with_results(body) if block["type"] == "text"]
    texts += [
        (f"system.{n}", block) for n, block in enumerate(body.get("system") or []) if block["type"] == "text"
    ]
    for at, block in texts:
        if not block["text"]:
            yield f"{at}: text content blocks must be non-empty"
        elif not block["text"].strip():
            yield f"{at}: text content blocks must contain non-whitespace text"
    last = body["messages"][-1] if body["messages"] else {"role": "user"}
    if last["role"] == "assistant":
        final = last["content"] if isinstance(last["content"], str) else last["content"][-1].get("text", "")
        if final != final.rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"


def calls_are_well_formed(body: Json) -> Iterator[str]:
    """Ids of calls have certain characters and occur once; inputs are objects.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    seen: Counter[str] = Counter()
    for at, block, _ in blocks(body):
        if block["type"] != "tool_use":
            continue
        if not ID.fullmatch(block["id"]):
            yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
        if not isinstance(block["input"], dict):
            yield f"{at}.tool_use.input: Input should be a valid dictionary"
        seen[block["id"]] += 1
        if seen[block["id"]] > 1:
            yield f"{at}: `tool_use` ids must be unique"


def results_follow_their_calls(body: Json) -> Iterator[str]:
    """The very next message has one result for each call, before any text, and no others.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
    """
    asked: set[str] = set()
    for number, message in enumerate(body["messages"]):
        content = message["content"] if isinstance(message["content"], list) else []
        given = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        for each in asked - set(given):
            yield (
                f"messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately "
                f"after: {each}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        for each in set(given) - asked:
            yield (
                f"messages.{number}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{each}. Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
        if len(given) != len(set(given)):
            yield f"messages.{number}: each tool_use must have a single result."
        if any(block["type"] != "tool_result" for block in content[: len(given)]):
            yield f"messages.{number}: `tool_result` blocks must come first in the content of a user message"
        asked = {block["id"] for block in content if block["type"] == "tool_use"}
    if asked:
        yield f"messages: `tool_use` ids were found without `tool_result` blocks at the end: {asked}"


def marks_are_few(body: Json) -> Iterator[str]:
    """At most four marks; none on an empty text; the longer-lived ones first.

    Source: https://platform.claude.com/docs/en/build-with-claude/prompt-caching
    """
    tools, system = body.get("tools") or [], body.get("system") or []
    said = [block for _, block, _ in blocks(body)]
    marked = [block for block in (*tools, *system, *said) if "cache_control" in block]
    if len(marked) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    for block in marked:
        if block.get("type") == "text" and not block["text"].strip():
            yield "cache_control cannot be set for empty text blocks"
    lives = [block["cache_control"].get("ttl", "5m") for block in marked]
    if lives != sorted(lives):  # `1h` before `5m`
        yield "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."


def tools_are_declared(body: Json) -> Iterator[str]:
    """Tools have names and object schemas; they are declared where the history calls any, or one is chosen.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
    """
    tools = body.get("tools") or []
    names = Counter(tool["name"] for tool in tools)
    for number, tool in enumerate(tools):
        if not TOOL_NAME.fullmatch(tool["name"]):
            yield f"tools.{number}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
        if tool.get("input_schema", {}).get("type") != "object":
            yield f"tools.{number}.custom.input_schema.type: Input should be 'object'"
        if not all(re.match(ARGUMENT_NAME, name) for name in tool["input_schema"].get("properties", ())):
            yield (
                f"tools.{number}.custom.input_schema.properties: "
                f"Property keys should match pattern '{ARGUMENT_NAME}'"
            )
    if any(times > 1 for times in names.values()):
        yield "tools: Tool names must be unique."
    if not tools and any(block["type"] in {"tool_use", "tool_result"} for _, block, _ in blocks(body)):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools."
    if not tools and "tool_choice" in body:
        yield "tool_choice may only be specified while providing tools"


def thinking_fits_the_model(body: Json) -> Iterator[str]:
    """Each family has its own kinds of thinking, levels of effort and longest answers.

    Sources: https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting,
    https://platform.claude.com/docs/en/build-with-claude/extended-thinking (budgets),
    https://platform.claude.com/docs/en/build-with-claude/effort
    """
    can, limit = abilities(body["model"]), body["max_tokens"]
    thinking, effort = body.get("thinking") or {}, (body.get("output_config") or {}).get("effort")
    if limit > can.longest:
        yield (
            f"max_tokens: {limit} > {can.longest}, which is the maximum allowed number of output tokens for "
            f"{body['model']}"
        )
    match thinking.get("type"):
        case "adaptive" if can.thinking != "adaptive":
            yield "adaptive thinking is not supported on this model"
        case "enabled" if can.thinking == "adaptive" and not re.search("4-6", body["model"]):
            yield (
                '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
                '"output_config.effort" to control thinking behavior.'
            )
        case "enabled":
            if thinking["budget_tokens"] < 1024:
                yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
            if thinking["budget_tokens"] >= limit:
                yield "`max_tokens` must be greater than `thinking.budget_tokens`."
        case "disabled" if can.off in {"never", "between_tools"}:
            yield '"thinking.type.disabled" is not supported for this model.'
        case "between_tools" if can.off != "between_tools":
            yield '"thinking.type.between_tools" is not supported for this model.'
        case _:
            pass
    if effort is not None and effort not in can.efforts:
        yield f"This model does not support the effort level '{effort}'."


def last_blocks_are_said(body: Json) -> Iterator[str]:
    """An assistant message does not end with a thought.

    Source: https://github.com/tailcallhq/forgecode/issues/2107 (the API's own message)
    """
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        if message["role"] == "assistant" and isinstance(content, list) and content[-1]["type"] in THOUGHTS:
            yield f"messages.{number}: The final block in an assistant message cannot be `thinking`."


RULES: tuple[Rule, ...] = (
    roles_alternate,
    blocks_are_known,
    attachments_are_taken,
    errors_are_texts,
    texts_are_not_empty,
    calls_are_well_formed,
    results_follow_their_calls,
    marks_are_few,
    tools_are_declared,
    thinking_fits_the_model,
    last_blocks_are_said,
)


def blocks(body: Json) -> Iterator[tuple[str, Json, str]]:
    """Each block of the messages, with its place and the role of its message."""
    for number, message in enumerate(body["messages"]):
        content = message["content"]
        listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for at, block in enumerate(listed):
            yield f"messages.{number}.content.{at}", block, message["role"]


def with_results(body: Json) -> Iterator[tuple[str, Json]]:
    """Each block of the messages, and those within results, with its place."""
    for at, block, _ in blocks(body):
        yield at, block
        if block["type"] == "tool_result" and isinstance(block["content"], list):
            yield from ((f"{at}.content.{n}", within) for n, within in enumerate(block["content"]))


def _read(value: Any) -> None:
    """pydantic reads iterables only when they are gone through."""
    if isinstance(value, dict):
        for each in value.values():
            _read(each)
    elif hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        for each in value:
            _read(each)
