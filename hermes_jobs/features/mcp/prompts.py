"""Prompts of servers: their names, arguments and texts. The input is untrusted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.events import McpPrompt, McpPromptArgument

MAX_PROMPTS = 200  # of one server
MAX_ARGUMENTS = 20
MAX_LINE = 300
_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,128}")


def prompts_of(entries: object) -> tuple[McpPrompt, ...]:
    """The prompts of a server's list, sorted, without those whose names cannot be typed."""
    prompts: dict[str, McpPrompt] = {}
    for entry in entries if isinstance(entries, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and _NAME.fullmatch(name):
            prompts.setdefault(name, _prompt(name, entry))
    return tuple(prompts[name] for name in sorted(prompts)[:MAX_PROMPTS])


def _prompt(name: str, entry: Mapping[str, Any]) -> McpPrompt:
    about = line(entry.get("description")) or line(entry.get("title"))
    return McpPrompt(name=name, description=about, arguments=tuple(_arguments(entry.get("arguments"))))


def _arguments(entries: object) -> Iterator[McpPromptArgument]:
    for entry in entries[:MAX_ARGUMENTS] if isinstance(entries, list) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        if isinstance(name, str) and _NAME.fullmatch(name):
            required = entry.get("required") is True
            yield McpPromptArgument(name=name, description=line(entry.get("description")), required=required)


def line(value: object) -> str:
    """A text of a server on one line, cleaned and cut; "" for another type."""
    return " ".join(clean(value).split())[:MAX_LINE] if isinstance(value, str) else ""


def usage(prompt: McpPrompt) -> str:
    """The usage after the prompt's name: `REPO [STATE]`."""
    words = (
        argument.name.upper() if argument.required else f"[{argument.name.upper()}]"
        for argument in prompt.arguments
    )
    return " ".join(words)


def parse_arguments(prompt: McpPrompt, rest: str, words: Sequence[str]) -> dict[str, str]:
    """The arguments in what was typed: by name (`repo=me/it`) or in their order. A prompt that takes one
    argument gets all of `rest`, of which `words` are the words.

    Raises `Rejected` where one is missing, or where there are too many words.
    """
    values, positional = {}, []
    names = [argument.name for argument in prompt.arguments]
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names:
            values[name] = value
        else:
            positional.append(word)
    open_ = [name for name in names if name not in values]
    if len(names) == 1 and positional and open_:
        positional = [rest]
    all_values = {**values, **dict(zip(open_, positional, strict=False))}
    arguments = {name: all_values[name] for name in names if name in all_values}
    missing = [
        argument for argument in prompt.arguments if argument.required and not arguments.get(argument.name)
    ]
    if len(positional) <= len(open_) and not missing:
        return arguments
    reason = "there are too many words" if not missing else f"{missing[0].name} is missing"
    takes = [f"{argument.name} ({argument.description or 'required'})" for argument in missing]
    hint = f"It needs {', '.join(takes)}: " if takes else "Quote what has blanks: "
    example = " ".join(f'{argument.name}="…"' for argument in prompt.arguments)
    text = f"{hint}{example}" if example else "It takes nothing."
    raise Rejected(f"{prompt.name}: {reason}.", kind="usage", hint=text)


def text_of(result: Mapping[str, Any]) -> str:
    """The text of a prompt's messages; an assistant's are marked as such."""
    messages = result.get("messages")
    each_said = (
        (message.get("role"), _content_text(message.get("content")))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict)
    )
    return "\n\n".join(
        f"(Assistant:) {text}" if role == "assistant" else text for role, text in each_said if text
    )


def _content_text(content: object) -> str:
    block = content if isinstance(content, dict) else {}
    match block.get("type"):
        case "text":
            return str(block.get("text") or "").strip()
        case "resource":
            resource = block.get("resource")
            resource = resource if isinstance(resource, dict) else {}
            name = line(resource.get("uri"))
            text = resource.get("text")
            return f"[{name}]\n{text.strip()}" if isinstance(text, str) else f"[{name}: no text]"
        case "resource_link":
            return f"[{line(block.get('uri'))}]"
        case other:
            return f"[{line(other) or 'something'} that is not text]"
