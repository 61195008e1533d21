"""Prompts of MCP servers as slash commands: `/server:prompt`, or `/mcp__server__prompt` as elsewhere.

A prompt is untrusted text: it is submitted under its server's name, without suspicious lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp import prompts
from hermes_jobs.features.mcp.cli.mentions import origin_of
from hermes_jobs.features.mcp.events import McpPrompt
from hermes_jobs.interfaces.chat.command_lines import words
from hermes_jobs.interfaces.chat.slash import ChatContext, SlashCommand
from hermes_jobs.prompt.project_files import cut, redact_findings_in
from hermes_jobs.tools.output import clean


def server_prompts(chat: ChatContext) -> Sequence[SlashCommand]:
    """The last known prompts of servers, without a request."""
    return [
        SlashCommand(
            f"{server}:{prompt.name}",
            prompts.usage(prompt),
            f"{server}: {prompt.description}" if prompt.description else f"a prompt of {server}",
            partial(_run, server=server, prompt=prompt),
            (f"mcp__{server}__{prompt.name}",),
            partial(_arguments, prompt=prompt) if prompt.arguments else None,
        )
        for server, listed in chat.application.mcp.prompts().items()
        for prompt in listed
    ]


def _arguments(_chat: ChatContext, *, prompt: McpPrompt) -> Sequence[tuple[str, str]]:
    return [(f"{argument.name}=", argument.description) for argument in prompt.arguments]


def _run(chat: ChatContext, rest: str, *, server: str, prompt: McpPrompt) -> None:
    """Submit the prompt's text.

    Raises `Rejected` if an argument is missing, or the prompt is empty.
    """
    arguments = prompts.parse_arguments(prompt, rest, words(rest))
    prompt_text = chat.reader.prompt(server, prompt.name, arguments, chat.conversation.workdir)
    text = clean(prompt_text).strip()
    if not text:
        raise Rejected(f"The prompt {prompt.name} of {server} says nothing.", kind="mcp")
    checked = redact_findings_in(cut(text, f"the prompt {prompt.name}"))
    if checked != text:
        chat.print_line(
            f"Parts of {server}:{prompt.name} were left out: too long, or they look like an attack."
        )
    says = f"The prompt {prompt.name} of the MCP server {server} says:\n\n{checked}"
    chat.send(says, mentions=rest, outside=origin_of((server,)))
