"""Slash commands that users write: Markdown files in the home, and in the folder that is worked in.

Those of the folder are untrusted text, like its AGENTS.md: suspicious lines are removed, existing names are
not replaced, and their text is submitted under the file's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.front_matter import split_front_matter
from hermes_jobs.interfaces.chat.command_lines import words
from hermes_jobs.interfaces.chat.slash import ChatContext, SlashCommand
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.prompt.project_files import LeftOutFile, cut, read_project_file, redact_findings_in

PROJECT_FOLDERS = (".hermes/commands", ".claude/commands")
MAX_FILES = 200  # of one folder, by name
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])")


def own_commands(chat: ChatContext) -> Sequence[SlashCommand]:
    """The commands in the home, then those of the folder; of two with one name the first is used."""
    place = chat.application.settings.paths.commands
    commands = [*_commands(place.parent, place.name, is_project=False)]
    for folder in PROJECT_FOLDERS:
        commands += _commands(Path(chat.conversation.workdir), folder, is_project=True)
    return commands


def _commands(root: Path, folder: str, *, is_project: bool) -> Iterator[SlashCommand]:
    try:
        files = sorted((root / folder).glob("*.md"))[:MAX_FILES]
    except OSError:
        return
    for file in files:
        name = file.stem.lower()
        if not _NAME.fullmatch(name):
            continue
        path = f"{folder}/{file.name}"
        try:
            fields, body = _read(root, path, is_project=is_project)
        except (LeftOutFile, Rejected) as error:
            fields, body = {"description": f"cannot be used: {error}"}, ""
        described = _text(fields.get("description")) or one_line(body.strip().partition("\n")[0]) or "no text"
        yield SlashCommand(
            name,
            _text(fields.get("argument-hint")) or ("[…]" if _PLACE.search(body) else ""),
            f"project: {described}" if is_project else described,
            partial(_run, root=root, path=path, is_project=is_project),
        )


def _run(chat: ChatContext, rest: str, *, root: Path, path: str, is_project: bool) -> None:
    """Submit the file's text, with `rest` in its placeholders. Raises `Rejected` if it is invalid."""
    try:
        _, body = _read(root, path, is_project=is_project)
    except LeftOutFile as reason:
        raise Rejected(f"{path} cannot be used: {reason}.", kind="usage") from reason
    except Rejected as error:
        hint = "Correct the lines between the two `---`, or remove them: a command needs only a text."
        raise Rejected(f"{path} cannot be used: {error.message}", kind="usage", hint=hint) from error
    if not body.strip():
        raise Rejected(f"{path} says nothing.", kind="usage", hint="Write the prompt below its front matter.")
    if is_project:
        checked = redact_findings_in(cut(body.strip(), path))
        if checked != body.strip():
            chat.print_line(
                f"Parts of {path} were left out: too long, or they look like an attack on the agent."
            )
        body = f"This folder's {path} says:\n\n{checked}"
    chat.send(expand(body.strip(), rest), mentions=rest)


def _read(root: Path, path: str, *, is_project: bool) -> tuple[Mapping[str, Any], str]:
    """The fields and the text. A project's file must be within it; the user's own may be a link to any
    place."""
    if is_project:
        return split_front_matter(read_project_file(root, path))
    file = (root / path).resolve()
    return split_front_matter(read_project_file(file.parent, file.name))


def expand(body: str, rest: str) -> str:
    """The text with the words behind the command in its places: all for `$ARGUMENTS`, one for `$1` to `$9`.

    Where it has no place for them they stand below it.
    """
    arguments = words(rest)
    if not _PLACE.search(body):
        return f"{body}\n\n{rest}".rstrip()

    def fill(match: re.Match[str]) -> str:
        if match[1] == "ARGUMENTS":
            return rest
        return "".join(arguments[int(match[1]) - 1 : int(match[1])])

    return _PLACE.sub(fill, body)


def _text(value: object) -> str:
    return one_line(value) if isinstance(value, str) else ""
