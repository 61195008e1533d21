"""Renders a whole request to the Messages API.

Sources: https://platform.claude.com/docs/en/api/messages/create, and
https://platform.claude.com/docs/en/api/migration-2026-10-21: the API version in use has no `temperature`, so
it is never sent.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.agent.llm.answer_format import output_format
from hermes_jobs.agent.llm.anthropic.abilities import abilities
from hermes_jobs.agent.llm.anthropic.marks import marked
from hermes_jobs.agent.llm.anthropic.prefix import Prefix
from hermes_jobs.agent.llm.anthropic.render import Takes, called, lacks_thoughts, rendered, tool_name
from hermes_jobs.agent.llm.anthropic.thinking import has_budget, limited
from hermes_jobs.agent.llm.dialect import CacheTtl
from hermes_jobs.agent.llm.families import Effort
from hermes_jobs.engine.ports import ModelRequest, ToolSpec

Json = dict[str, Any]


class RequestOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of requests: the settings, without the features that the endpoint refused.

    `marks`: lifetime of marked prefixes, None for no marks; if the settings require them, they are never left
    out. `effort` None: not set. `constrains`: a schema for the answer is sent as a parameter.
    """

    marks: CacheTtl | None = "5m"
    insists_on_marks: bool = False
    effort: Effort | None = None
    constrains: bool = True


def request_body(
    request: ModelRequest, conduct: RequestOptions, takes: Takes, prefix: Prefix | None = None
) -> Json:
    """The request body; only its messages depend on the history, and its marks only on positions.

    `prefix` is filled with its content; `takes` may read it.
    """
    tools, system = _tools(request), _system(request)
    if prefix is not None:
        prefix.begin(tools.get("tools"), system)  # `tool_choice` binds nothing
    messages = rendered(request.messages, takes)
    if prefix is not None:
        prefix.end(messages)
    fields = limited(abilities(request.model), conduct.effort, request.max_tokens)
    if has_budget(fields) and lacks_thoughts(messages):
        fields = limited(abilities(request.model), None, request.max_tokens)
    if conduct.constrains and (form := output_format(request)):
        fields = {**fields, "output_config": {**fields.get("output_config", {}), "format": form}}
    body: Json = {
        "model": request.model,
        **fields,
        **system,
        **tools,
        "messages": messages,
        "stream": True,
    }
    return body if conduct.marks is None else marked(body, conduct.marks)


def without(conduct: RequestOptions, refused: str) -> RequestOptions | None:
    """The options without the refused feature; None if the refusal names nothing that can be left out."""
    said = refused.lower()
    if conduct.constrains and re.search(r"output_config\.format|output_format|schema|grammar", said):
        return replace(conduct, constrains=False)
    if conduct.marks is not None and "cache_control" in said:
        return None if conduct.insists_on_marks else replace(conduct, marks=None)
    if conduct.effort is not None and any(word in said for word in ("thinking", "output_config", "effort")):
        return replace(conduct, effort=None)
    return None


def _system(request: ModelRequest) -> Json:
    prompt = request.system_prompt
    return {"system": [{"type": "text", "text": prompt}]} if prompt.strip() else {}


def _tools(request: ModelRequest) -> Json:
    """The tools; if none are offered but some were called, declarations of those: the API requires them."""
    offered = [_tool(spec) for spec in request.tools]
    declared = offered or [_declared(name) for name in called(request.messages)]
    if not declared:
        return {}
    choice = {} if offered and request.tool_choice == "auto" else {"tool_choice": {"type": "none"}}
    return {"tools": declared, **choice}


def _tool(spec: ToolSpec) -> Json:
    schema = (
        spec.parameters if spec.parameters.get("type") == "object" else {"type": "object", **spec.parameters}
    )
    return {"name": tool_name(spec.name), "description": spec.description, "input_schema": schema}


def _declared(name: str) -> Json:
    return {"name": name, "description": "Not available now.", "input_schema": {"type": "object"}}
