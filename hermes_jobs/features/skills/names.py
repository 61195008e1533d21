"""Valid names of skills, categories and files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

from hermes_jobs.errors import Rejected
from hermes_jobs.kernel.turns.titles import printable

MAX_NAME = 64
MAX_PATH = 200
SUBFOLDERS = ("references", "templates", "scripts", "assets")

_READ = re.compile(r"[a-z0-9][a-z0-9._-]*")
_WRITTEN = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")  # https://agentskills.io/specification, `name`
_IGNORED = re.compile(r"[.#].*|.*(?:~|\.swp|\.pyc)|__pycache__|node_modules")


def is_read(name: str) -> bool:
    """Whether a folder of that name can be a skill, or a category of skills."""
    return len(name) <= MAX_NAME and _READ.fullmatch(name) is not None


def is_written(name: str) -> bool:
    """Whether a new skill or category may have that name."""
    return len(name) <= MAX_NAME and _WRITTEN.fullmatch(name) is not None


def is_ignored(name: str) -> bool:
    """Whether a file or folder of that name does not belong to a skill: hidden files, and files that editors
    leave behind."""
    return _IGNORED.fullmatch(name) is not None


def checked_name(name: str, what: str = "name") -> str:
    """The name, which may be given to a new skill. Raises `Rejected`."""
    if is_written(name):
        return name
    if not name.strip():
        message = f"An empty text cannot be the {what} of a skill."
        raise Rejected(message, kind="skill_name", hint="Give it one or two words.")
    raise Rejected(
        f"{name[: MAX_NAME * 2]!r} cannot be the {what} of a skill.",
        kind="skill_name",
        hint=f"It takes lower-case letters, digits and single hyphens between them, at most {MAX_NAME}.",
    )


def checked_path(path: str) -> str:
    """The path of a new support file, which may be written. Raises `Rejected`."""
    parts = path.split("/")
    if parts[0] not in SUBFOLDERS or len(parts) < 2:
        raise _refused(
            path, f"Support files lie in {', '.join(f'{subfolder}/' for subfolder in SUBFOLDERS)}."
        )
    return checked_inside(path)


def checked_inside(path: str) -> str:
    """The path of a file of a skill, wherever in its folder it lies. Raises `Rejected`."""
    parts = path.split("/")
    if ".." in parts or path.startswith("/"):
        raise _refused(path, "Give a path within the skill's folder.")
    if len(path) > MAX_PATH or "\\" in path or printable(path) != path or "\n" in path or "\t" in path:
        raise _refused(path, f"Use plain characters, at most {MAX_PATH}.")
    if any(not part or part == "." or is_ignored(part) for part in parts):
        raise _refused(path, "Hidden and temporary files, and empty names, cannot belong to a skill.")
    return path


def _refused(path: str, hint: str) -> Rejected:
    return Rejected(f"{path[:MAX_PATH]!r} is not a path in a skill.", kind="skill_path", hint=hint)


def unknown_skill(name: str, known_names: Iterable[str]) -> Rejected:
    """The error for an unknown skill name, with the most similar names."""
    if not name.strip():
        return Rejected("The skill's name is empty.", kind="usage", hint="Give the name of a skill.")
    near = get_close_matches(name.lower(), list(known_names), n=3, cutoff=0.4)
    nearest = f" The nearest: {', '.join(near)}." if near else ""
    return Rejected(
        f"There is no skill {name[: MAX_NAME * 2]!r}.{nearest}",
        kind="unknown_skill",
        hint="See `hermes-jobs skills list`.",
        tool_hint="See skills_list.",
    )
