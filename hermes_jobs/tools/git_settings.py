"""Settings of a repository that a command may leave: they name no program and no other settings.

Read line by line. What git reads otherwise than as a section or `name = value` on a line counts as harmful.
"""

from __future__ import annotations

import re

from hermes_jobs.tools.git_places import leads_back
from hermes_jobs.tools.repositories import Setting

_SECTION = re.compile(r'\[([A-Za-z][A-Za-z0-9-]*)(?:[ \t]+"([^"\\\n]*)")?\]')
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*([^\\\n]*))?")


def adds_only_harmless(before: bytes | None, after: bytes, git: str) -> bool:
    """Whether all settings that are new in `after` are harmless, in a file of the git folder that can be read
    for certain."""
    new = _settings(after)
    old = set(_settings(before or b"") or ())
    return new is not None and all(
        each in old or _is_own_worktree(each, git) or _is_harmless(each) for each in new
    )


def _is_own_worktree(setting: Setting, git: str) -> bool:
    """Whether it names a working folder that leads back: git writes that for a submodule."""
    plain = set(setting.value).isdisjoint('"#;')
    return setting.key == "core.worktree" and plain and leads_back(setting.value, git)


def _is_harmless(setting: Setting) -> bool:
    if setting.key.endswith("url") and (setting.value.startswith("-") or "::" in setting.value):
        return False
    return setting.is_harmless


def _settings(content: bytes) -> list[Setting] | None:
    """The settings of a file in order; None if they are not certain."""
    found: list[Setting] = []
    section = ""
    for line in content.decode("utf-8", "surrogateescape").split("\n"):
        text = line.strip(" \t\r")
        if not text or text[0] in "#;":
            continue
        if header := _SECTION.fullmatch(text):
            section = ".".join((header[1].lower(), *([header[2]] if header[2] is not None else [])))
        elif (entry := _ENTRY.fullmatch(text)) and section:
            value = (entry[2] or "").strip(" \t")
            found.append(Setting(f"{section}.{entry[1].lower()}", value, own=False))
        else:
            return None
    return found
