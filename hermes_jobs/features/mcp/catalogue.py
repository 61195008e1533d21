"""A server's tools as the model sees them: cleaned, scanned, sorted, with a digest.

The input is untrusted. Control characters and invisible ones are removed; a tool is omitted if its texts
look like instructions to an agent, or if providers would refuse it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from hermes_jobs.features.mcp.events import McpTool, McpToolLeftOut, McpToolsListed
from hermes_jobs.features.mcp.schemas import UnusableSchema, adapt, rename_properties
from hermes_jobs.settings.sections.mcp_servers import McpServer
from hermes_jobs.text.scan.findings import Kind
from hermes_jobs.text.scan.scanner import scan

SEPARATOR = "__"
MAX_NAME = 64  # limits of providers
MAX_DESCRIPTION = 4_000
MAX_SCHEMA = 50_000
MAX_DEPTH = 30
SCANNED: tuple[Kind, ...] = ("instruction", "exfiltration", "hidden", "unscanned")
"""Rules that are not applied: a description may have an example key, or explain the setup of a machine."""

_NAME = re.compile(r"[A-Za-z0-9_.\-/]{1,128}")
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs"})


class _LeftOut(Exception):
    """The reason why a tool is omitted."""


def full_name(server: str, tool: str) -> str:
    """The tool's name for the model, without dots and slashes."""
    return f"{server}{SEPARATOR}{re.sub(r'[./]', '_', tool)}"


def fingerprint(config: McpServer) -> str:
    """The digest of the settings that determine a server's list of tools and their descriptions,
    without values of its environment and headers, which may be secrets."""
    described = {
        name: settings.description for name, settings in config.tools.items() if settings.description
    }
    parts = (config.command, config.args, sorted(config.env), config.url, sorted(config.headers), config.cwd)
    return digest_of((*parts, config.include, config.exclude, described))


def digest_of(value: object) -> str:
    """A digest of a value by its JSON."""
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:32]


def read_listing(
    server: str,
    config: McpServer,
    entries: object,
    *,
    malformed: Sequence[tuple[str, str]] = (),
    **more: Any,
) -> McpToolsListed:
    """The listing of a server. `entries` is its list of tools as decoded JSON, without those that are
    `malformed`: names, each with what is wrong; `more` are further fields."""
    tools: dict[str, McpTool] = {}
    left_out = dict(malformed)
    for entry in entries if isinstance(entries, list) else ():
        entry_name = str(entry.get("name", "")) if isinstance(entry, dict) else ""
        name = clean(entry_name)[:128]
        clash = next((other for other in tools if full_name(server, other) == full_name(server, name)), "")
        if clash:
            left_out.setdefault(name, f"its name clashes with that of {clash!r}")
            continue
        try:
            tools[name] = _tool(server, config, entry_name, entry)
        except _LeftOut as reason:
            left_out.setdefault(name, str(reason))
    ordered = tuple(tools[name] for name in sorted(tools))
    return McpToolsListed(
        server=server,
        digest=digest_of(ordered),
        fingerprint=fingerprint(config),
        tools=ordered,
        left_out=tuple(McpToolLeftOut(name=name, reason=left_out[name]) for name in sorted(left_out)),
        **more,
    )


def _tool(server: str, config: McpServer, name: str, entry: Mapping[str, Any]) -> McpTool:
    if not _NAME.fullmatch(name):
        raise _LeftOut("its name is illegal: letters, digits, and _ - . / are allowed, up to 128 of them")
    if len(full_name(server, name)) > MAX_NAME:
        raise _LeftOut(f"{full_name(server, name)!r} is longer than the {MAX_NAME} characters of a name")
    own = config.tools.get(name)
    if not config.uses(name):
        raise _LeftOut("turned off in the configuration")
    if _runs_as_a_task_only(entry):
        raise _LeftOut("it runs only as a task of the revision 2025-11-25, which hermes-jobs does not speak")
    schema, own_names = rename_properties(_schema(entry.get("inputSchema")))
    hints = entry.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    description = own.description if own and own.description else clean(str(entry.get("description") or ""))
    title = clean(str(entry.get("title") or hints.get("title") or ""))[:200]
    _check_text("" if own and own.description else description, title, _words(name), schema)
    return McpTool(
        name=name,
        description=_cut(description),
        parameters=schema,
        renamed=own_names,
        title=title,
        read_only=_hint(hints, "readOnlyHint"),
        destructive=_hint(hints, "destructiveHint"),
        idempotent=_hint(hints, "idempotentHint"),
    )


def _runs_as_a_task_only(entry: Mapping[str, Any]) -> bool:
    """Whether the tool refuses calls without a task (`taskSupport` of that revision). With the extension
    the server decides at each call."""
    execution = entry.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _hint(hints: Mapping[str, Any], name: str) -> bool | None:
    value = hints.get(name)
    return value if isinstance(value, bool) else None


def _schema(value: object) -> dict[str, Any]:
    """The schema of the arguments: an object with cleaned texts."""
    if not isinstance(value, dict) or value.get("type", "object") != "object":
        raise _LeftOut("the schema of its arguments is not an object")
    schema = _cleaned(value, 0)
    if len(msgspec.json.encode(schema)) > MAX_SCHEMA:
        raise _LeftOut(f"the schema of its arguments has more than {MAX_SCHEMA:,} bytes")
    try:
        schema = adapt(schema)
    except UnusableSchema as reason:
        raise _LeftOut(f"the schema of its arguments cannot be used: {reason}") from reason
    if len(msgspec.json.encode(schema)) > 2 * MAX_SCHEMA:
        raise _LeftOut("the schema of its arguments grows too large where its references are followed")
    return schema


def _cleaned(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _LeftOut("the schema of its arguments is nested too deeply")
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item, depth + 1) for item in value]
        case dict():
            return {clean(str(name)): _cleaned(item, depth + 1) for name, item in value.items()}
        case _:
            return value


def _words(name: str) -> str:
    """A name as the words that a model reads in it."""
    return re.sub(r"[_./-]+", " ", name)


def _check_text(description: str, title: str, name: str, schema: Mapping[str, Any]) -> None:
    texts = _texts(schema)
    words = [_words(text) for text in texts if "_" in text or "-" in text]
    for text in (description, f"{name}\n{title}", "\n".join(texts), "\n".join(words)):
        if findings := scan(text, SCANNED):
            raise _LeftOut(f"its description looks like {findings[0].rule}: {findings[0].excerpt!r}")


def _texts(value: Any) -> list[str]:
    """All texts in a schema, including the names of its fields."""
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in _texts(item)]
        case dict():
            return [text for name, item in value.items() for text in (name, *_texts(item))]
        case _:
            return []


def clean(text: str) -> str:
    """The text without control characters, invisible ones, and escape sequences; line breaks stay."""
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text).replace("\r\n", "\n")
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in _INVISIBLE
    ).strip()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1]}…"


def clashes(listings: Sequence[McpToolsListed]) -> dict[str, tuple[str, str]]:
    """Duplicate names for the model, each with its two servers."""
    owners: dict[str, str] = {}
    first_owners: dict[str, tuple[str, str]] = {}
    for listing in listings:
        for tool in listing.tools:
            name = full_name(listing.server, tool.name)
            if owners.setdefault(name, listing.server) != listing.server:
                first_owners[name] = (owners[name], listing.server)
    return first_owners
