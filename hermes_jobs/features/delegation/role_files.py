"""The available kinds of sub-agents: built in, configured, and Markdown files in the home or a project.

The files have the form of Claude Code's sub-agents (https://code.claude.com/docs/en/sub-agents): front matter
with `name`, `description`, `tools`, `disallowedTools`, `maxTurns` and `model`, and the prompt below.
`toolsets`, `budget` and `max_iterations` are additions. A project's files are untrusted text, like its
AGENTS.md: suspected attacks are removed, and these files cannot replace an existing name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from hermes_jobs.errors import Rejected
from hermes_jobs.features.delegation.roles import BUILT_IN, AgentRole
from hermes_jobs.features.skills.front_matter import split_front_matter
from hermes_jobs.prompt.project_files import LeftOutFile, cut, read_project_file, redact_findings_in

if TYPE_CHECKING:
    from hermes_jobs.settings.sections.tools import AgentRoleSettings

logger = logging.getLogger(__name__)

PROJECT_FOLDERS = (".hermes/agents", ".claude/agents")
MAX_FILES = 100  # of one folder, by name
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_TOOLSETS: Mapping[str, str] = {
    **dict.fromkeys(("read", "glob", "grep", "ls", "edit", "multiedit", "write", "notebookedit"), "files"),
    **dict.fromkeys(("bash", "bashoutput", "killshell"), "terminal"),
    **dict.fromkeys(("webfetch", "websearch"), "web"),
    **dict.fromkeys(("task", "agent"), "delegate"),
    "todowrite": "todo",
    "skill": "skills",
}
"""Our toolset for each tool of Claude Code."""
_INHERITED = frozenset({"inherit", "sonnet", "opus", "haiku"})
"""Model names for Claude Code only: they select the delegating agent's model."""


def agent_roles(
    home: Path, configured: Mapping[str, AgentRoleSettings], workdir: str = ""
) -> Mapping[str, AgentRole]:
    """All kinds of sub-agents for work in `workdir`, by name; a broken file is left out with a warning.

    `home` is the folder of the user's own files, which `configured` ones replace.
    """
    roles = dict(BUILT_IN)
    if workdir:
        for folder in PROJECT_FOLDERS:
            for name, role in role_files(Path(workdir), folder, is_project=True):
                roles.setdefault(name, role)
    roles.update(role_files(home.parent, home.name, is_project=False))
    for name, chosen in configured.items():
        roles[name] = AgentRole(**asdict(chosen), origin="config.yaml")
    return roles


def role_files(root: Path, folder: str, *, is_project: bool) -> Iterator[tuple[str, AgentRole]]:
    """The kinds of the folder's files, by name; a broken file is left out with a warning."""
    try:
        files = sorted((root / folder).glob("*.md"))[:MAX_FILES]
    except OSError:
        return
    for file in files:
        path = f"{folder}/{file.name}"
        try:
            yield _role(root, path, file.stem, is_project=is_project)
        except (LeftOutFile, Rejected, ValueError) as error:
            logger.warning("%s is not a sub-agent: %s", path, error)


def _role(root: Path, path: str, stem: str, *, is_project: bool) -> tuple[str, AgentRole]:
    """The file's name and role. Raises `LeftOutFile`, `Rejected` and `ValueError`."""
    file = root / path if is_project else (root / path).resolve()
    text = read_project_file(root, path) if is_project else read_project_file(file.parent, file.name)
    fields, body = split_front_matter(text)
    name = (_text(fields, "name") or stem).lower()
    if not _NAME.fullmatch(name):
        raise ValueError(f"its name {name!r} is not made of letters, digits, - and _")
    prompt, description = body.strip(), " ".join(_text(fields, "description").split())
    if not description:
        raise ValueError("it has no `description`")
    if is_project:
        prompt, description = redact_findings_in(cut(prompt, path)), redact_findings_in(description)
    model = _text(fields, "model")
    return name, AgentRole(
        description=description,
        prompt=prompt,
        toolsets=_toolsets(fields),
        excluded=_mapped(fields, "disallowedTools") or (),
        model=None if model.lower() in _INHERITED else model or None,
        budget=_number(fields, "budget"),
        max_iterations=_whole_number(fields),
        origin=path if is_project else f"home: {path}",
    )


def _toolsets(fields: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The toolsets that the file names, or those of its tools. None if it names neither.

    Raises `ValueError` if either is not a list.
    """
    own = _names(fields, "toolsets")
    return own if own is not None else _mapped(fields, "tools")


def _mapped(fields: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """The toolsets of the tools of Claude Code in that field; unknown tools are left out. None without it."""
    names = _names(fields, key)
    if names is None:
        return None
    toolsets = (_TOOLSETS.get(name.lower(), "") for name in names)
    return tuple(dict.fromkeys(toolset for toolset in toolsets if toolset))


def _names(fields: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    """The names in a list, or in a text with commas. None without the field; an empty list names none."""
    named = fields.get(key)
    if named is None:
        return None
    items = named.split(",") if isinstance(named, str) else named
    if not isinstance(items, list):
        raise ValueError(f"its `{key}` is not a list of names")  # noqa: TRY004 - a broken file, not a broken call
    names = (re.sub(r"\(.*", "", str(item)).strip() for item in items)
    return tuple(dict.fromkeys(name for name in names if name))


def _text(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return value.strip() if isinstance(value, str) else ""


def _number(fields: Mapping[str, Any], key: str) -> float | None:
    """Raises `ValueError` unless the field is an amount above zero."""
    value = _text(fields, key)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ValueError(f"its `{key}` is {value!r}, which is not a number above zero")
    return number


def _whole_number(fields: Mapping[str, Any]) -> int | None:
    """Raises `ValueError` unless `max_iterations` (`maxTurns` elsewhere) is a number above zero."""
    key = "max_iterations" if "max_iterations" in fields else "maxTurns"
    number = _number(fields, key)
    if number is not None and number != int(number):
        raise ValueError(f"its `{key}` is {number:g}, which is not a whole number")
    return None if number is None else int(number)
