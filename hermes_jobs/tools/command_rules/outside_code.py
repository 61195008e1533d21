"""Checks for code from outside the session's folders: programs, scripts, build files, and search paths.

Programs that are installed count as inside: those in folders of the system, in a folder such as `bin`, and in
hidden folders of the user's home. Files in folders for scratch files never do.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH119, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import SHELLS, Invocation, without_version
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.tables import pattern, words

_LONGEST_NAME = 120  # of a variable, in characters
_CODE_LETTERS = {"python": "cm", "php": "r"}
"""By language, the short options behind which code or a module stands; for the others `-e` and `-p`."""


def is_outside(path: str, context: CommandContext) -> bool:
    """Whether code at an absolute path is outside the session's folders and not installed."""
    real = context.real(path)
    if any(is_inside(real, root) for root in context.paths.real_roots(context.workdir)):
        return False
    if is_scratch(real):
        return True
    if any(is_inside(real, word) for word in words("outside_code", "system_folders")):
        return False
    own = os.path.relpath(real, os.path.normpath(context.paths.user_home))
    if own.startswith(".") and not own.startswith(".."):
        return False
    folders = {os.path.basename(os.path.dirname(candidate)) for candidate in (path, real)}
    return folders.isdisjoint(words("outside_code", "program_folders"))


def is_scratch(path: str) -> bool:
    """Whether the path is in a folder for scratch files, where every program may write."""
    return any(is_inside(path, word) for word in words("outside_code", "scratch"))


def names_outside(invocation: Invocation, context: CommandContext, words: Sequence[str]) -> bool:
    """Whether one of the words is a path outside."""
    paths = (invocation.path(word) for word in words if word and "://" not in word)
    return any(path is not None and is_outside(path, context) for path in paths)


def option_values(invocation: Invocation, options: str) -> list[str]:
    """The values of options: `-x` as `values` reads them, `-word VALUE`, `-word=VALUE`, `WORD=VALUE`."""
    listed = options.split()
    results = values(
        invocation,
        "".join(option[1] for option in listed if len(option) == 2),
        *(option for option in listed if option.startswith("--")),
    )
    others = [option for option in listed if len(option) > 2 and not option.startswith("--")]
    for index, argument in enumerate(invocation.arguments):
        name, equals, value = argument.partition("=")
        if argument in others:
            results += invocation.arguments[index + 1 : index + 2]
        elif equals and name in others:
            results.append(value)
    return [part for result in results for part in re.split(r"[:;,]", result)]


def program_is_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether the program, a project tool's folder or the script it reads is outside. An address is."""
    if "://" in invocation.program:
        return True
    if "/" in invocation.program and names_outside(invocation, context, (invocation.program,)):
        return True
    name = without_version(invocation.name)
    if name in words("outside_code", "project_tools") and not _only_tells(invocation):
        return is_outside(invocation.folder, context)
    if name not in SHELLS | words("interpreters", "languages") or _has_code(name, invocation):
        return False
    read = [redirect.target for redirect in invocation.redirects if redirect.operator == "<"]
    return not set(invocation.operands) - {"-"} and names_outside(invocation, context, read)


def script_is_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an interpreter's script lies outside."""
    name = without_version(invocation.name)
    if _has_code(name, invocation) or (name in SHELLS and invocation.has("-n")):
        return False
    return names_outside(invocation, context, up_to_script(invocation))


def up_to_script(invocation: Invocation) -> list[str]:
    """The operands of an interpreter up to its script, before which values of options may stand."""
    operands = invocation.operands
    for index, operand in enumerate(operands):
        if "/" in operand or "." in operand or os.path.lexists(invocation.path(operand) or ""):
            return list(operands[: index + 1])
    return list(operands)


def operands_are_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether one of the operands lies outside; the node of a test counts as its file."""
    return names_outside(invocation, context, [operand.partition("::")[0] for operand in invocation.operands])


def project_is_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an operand that is no option's value lies outside."""
    behind = zip(("", *invocation.arguments), invocation.arguments, strict=False)
    operands = [word for before, word in behind if not word.startswith("-") and before[:1] != "-"]
    return names_outside(invocation, context, operands)


def _only_tells(invocation: Invocation) -> bool:
    return invocation.has("--version", "--help", "-version") or invocation.arguments in (
        ("-v",),
        ("version",),
    )


def _has_code(name: str, invocation: Invocation) -> bool:
    letters = "c" if name in SHELLS else _CODE_LETTERS.get(name, "eEp")
    return invocation.has(*(f"-{letter}" for letter in letters), "--eval", "--print")


# --- variables ------------------------------------------------------------------------------------


def sets_program(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it sets a variable that makes programs run a command, or load code from elsewhere."""
    exports = invocation.name in words("interpreters", "setters")
    return any(
        _is_launching(match["name"], match["value"], invocation, context, exports=exports)
        for assignment in _assignments(invocation, exports=exports)
        if (match := ASSIGNMENT.fullmatch(assignment))
    )


def _assignments(invocation: Invocation, *, exports: bool) -> Iterator[str]:
    for word in invocation.words:
        if ASSIGNMENT.fullmatch(word) is None:
            break
        yield word
    if exports or invocation.name in words("outside_code", "variable_takers"):
        yield from invocation.arguments


def _is_launching(  # noqa: PLR0911
    name: str, value: str, invocation: Invocation, context: CommandContext, *, exports: bool
) -> bool:
    if len(name) > _LONGEST_NAME:
        return True  # no program has such a variable
    launching = words("interpreters", "launching_variables")
    if name in launching or pattern("interpreters", "launching_names").fullmatch(name):
        return bool(value)
    if name in words("interpreters", "place_variables") and not is_own_program(invocation, context):
        is_own = name in words("interpreters", "file_variables") and _is_own_file(value, invocation, context)
        return bool(value) and value not in (".git", "/dev/null", context.paths.user_home) and not is_own
    if pattern("interpreters", "source_names").fullmatch(name) and not is_own_program(invocation, context):
        return _names_other_source(value)
    if name in words("interpreters", "program_variables"):
        return pattern("interpreters", "harmless_programs").fullmatch(value) is None
    if name in words("interpreters", "option_variables"):
        return pattern("interpreters", "options_that_load").search(value) is not None
    if pattern("interpreters", "option_names").fullmatch(name):
        return pattern("interpreters", "options_that_load").search(value) is not None
    if name in words("interpreters", "tool_variables"):
        first, *others = value.split(" ")
        if os.path.basename(first) in SHELLS and others:
            return True
        return "/" in first and names_outside(invocation, context, (first,))
    if pattern("interpreters", "file_names").fullmatch(name) and not is_own_program(invocation, context):
        return "://" not in value and names_outside(invocation, context, (value,))
    entries = value.split(":")
    if name == "LD_LIBRARY_PATH" and _loads_for_others(entries, invocation, context, exports=exports):
        return True
    if name == "PATH" and not {"", "."}.isdisjoint(entries):
        return True
    files = [f"{entry}/file" for entry in entries if entry]
    return name in words("interpreters", "loading_variables") and names_outside(invocation, context, files)


def is_own_program(invocation: Invocation, context: CommandContext) -> bool:
    """Whether the program is a file of the project: what its variables mean is the project's affair.

    Programs that are installed in the project, as in `.venv/bin`, are none of these."""
    path = invocation.path(invocation.program) if "/" in invocation.program else None
    if not words("outside_code", "environments").isdisjoint((path or "").split("/")):
        return False
    roots = context.paths.real_roots(context.workdir)
    return path is not None and any(is_inside(context.real(path), root) for root in roots)


def _is_own_file(value: str, invocation: Invocation, context: CommandContext) -> bool:
    """Whether a value is one file of the session's folders: settings of the project, which see no keys."""
    path = invocation.path(value)
    roots = context.paths.real_roots(context.workdir)
    return path is not None and any(is_inside(context.real(path), root) for root in roots)


def _names_other_source(value: str) -> bool:
    """Whether a registry or proxy is another machine than this one, or than the usual ones."""
    hosts = [part for part in re.split(r"[,|;\s]", value) if part not in ("", "direct", "off", "none", "*")]
    return any(pattern("interpreters", "usual_sources").match(host) is None for host in hosts)


def _loads_for_others(
    entries: Sequence[str], invocation: Invocation, context: CommandContext, *, exports: bool
) -> bool:
    """Whether libraries from a folder of the session are loaded into a program of the system."""
    if exports:
        return not {"", "."}.isdisjoint(entries)
    own_programs = words("downloads", "builders") | words("interpreters", "languages")
    is_ours = "/" in invocation.program or without_version(invocation.name) in own_programs
    roots = context.paths.real_roots(context.workdir)
    paths = [context.real(path) for entry in entries if (path := invocation.path(entry))]
    return not is_ours and any(is_inside(path, root) for path in paths for root in roots)


CHECKS = (program_is_outside, script_is_outside, operands_are_outside, project_is_outside, sets_program)
