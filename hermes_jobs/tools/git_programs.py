"""Which programs that a person's own settings of git name may be code of the working folder, or run it."""

from __future__ import annotations

import os
import re
import shlex

from hermes_jobs.tools.key_environment import Inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.tables import pattern, words

_HELPERS = re.compile(r"git-credential-[\w.-]+")
_NONE = frozenset(("", "true", "false", "yes", "no", "1", "0"))


def may_be_of_folder(key: str, value: str, paths: PathPolicy, workdir: str) -> bool:
    """Whether git runs a program by this setting that may run something of the working folder.

    That is a relative path, an interpreter, a script: all but programs that are known."""
    if not pattern("credentials", "program_settings").fullmatch(key) or value in _NONE:
        return False
    if key.endswith(".update") and not value.startswith("!"):  # of a submodule: a way, not a program
        return False
    if key.endswith(".helper") and not value.startswith(("!", "/", "~")):
        value = f"git-credential-{value}"
    parts = re.split(r"[|&;]+", value.lstrip("!"))
    return not all(_is_known(part, paths.user_home, Inside(paths, workdir)) for part in parts)


def _is_known(command: str, user_home: str, inside: Inside) -> bool:
    """Whether a command of a shell runs a known program, with words that lead nowhere else."""
    try:
        program, *rest = shlex.split(command)
    except ValueError:  # also without a word
        return False
    path = f"{user_home}{program[1:]}" if program.startswith("~/") else program
    name = os.path.basename(path)  # noqa: PTH119
    if "/" in path and inside.holds(path):
        return False
    if name not in words("credentials", "known_programs") and not _HELPERS.fullmatch(name):
        return False
    text = " ".join(rest)
    return not (pattern("credentials", "leads_elsewhere").search(text) or inside.is_named_in(text))
