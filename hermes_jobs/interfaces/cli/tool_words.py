"""What each tool does, told to people; its docstring tells the model."""

from __future__ import annotations

from collections.abc import Mapping

TOOL_WORDS: Mapping[str, str] = {
    "terminal": "runs a shell command in the session's folder, also one that goes on in the background",
    "process": "lists, reads, types into and ends what `terminal` started in the background",
    "read_file": "reads a text file, page by page",
    "write_file": "writes a whole file, and the folders that it needs",
    "patch_file": "replaces a text within a file",
    "search_files": "finds lines by a regular expression, or files by name; passes over what git ignores",
    "web_fetch": "fetches one page of the public Internet as text",
    "web_search": "searches the web through the provider that is set",
    "memory": "adds, replaces and removes what it remembers of you and your work",
    "skills_list": "lists the skills",
    "skill_view": "reads a skill",
    "skill_manage": "writes, mends and deletes skills",
    "session_search": "searches earlier conversations",
    "recall_compacted": "finds again, word for word, what a summary has replaced",
    "schedule": "adds, lists, changes and removes schedules",
    "todo": "keeps a list of steps for longer work, within the session",
    "delegate": "has a part of the work done by another agent",
}


def told(name: str, description: str) -> str:
    """What that tool does in a few words; for one of a plugin, how its description begins."""
    if name in TOOL_WORDS:
        return TOOL_WORDS[name]
    line = " ".join(description.split())
    sentence, stop, _ = line.partition(". ")
    return f"{sentence}." if stop else line
