"""Checks for unseen code, killed processes, and the target of `pip`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hermes_jobs.agent.tools.command_rules.context import CommandContext
from hermes_jobs.agent.tools.command_rules.written_paths import values
from hermes_jobs.agent.tools.invocations import SHELLS, Invocation, without_version
from hermes_jobs.agent.tools.path_policy import is_inside
from hermes_jobs.agent.tools.shell_words import SUBSTITUTED, UNKNOWN, ShellRedirect
from hermes_jobs.agent.tools.tables import words

_CODE_FOLLOWS = re.compile(r"-[a-z]*[ce]")  # at the end: what is given is the code
_GLOB = re.compile(r"[*?\[{]")


def runs_unseen(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a program, its script or its input is known only at run time."""
    name = invocation.name
    if UNKNOWN in name or "{}" in name or (_GLOB.search(name) and "/" in invocation.program):
        return True
    if name == "parallel" and not "".join(_commands_of_parallel(invocation)).strip(":+"):
        return True
    if any(file.startswith(SUBSTITUTED) for file in values(invocation, "f", "--file", "--makefile")):
        return True
    if name in ("eval", "source", "."):
        return any(
            UNKNOWN in argument or argument in words("interpreters", "standard_input")
            for argument in invocation.arguments[:1]
        )
    return _interprets_unseen(without_version(name), invocation)


def _interprets_unseen(name: str, invocation: Invocation) -> bool:
    """Whether a shell or another interpreter runs a script, code or input that is not known."""
    runs_code = name.lower() in words("interpreters", "languages") | SHELLS
    if runs_code and UNKNOWN in invocation.input and not invocation.operands:
        return True
    if name not in SHELLS | words("interpreters", "interpreters"):
        return False
    unseen = (UNKNOWN, SUBSTITUTED) if name in SHELLS else SUBSTITUTED
    if any(operand.startswith(unseen) for operand in invocation.operands[:1]):
        return True
    if invocation.given and _CODE_FOLLOWS.fullmatch("".join(invocation.arguments[-1:])):
        return True
    reads_input = invocation.piped or invocation.given or any(map(_is_unseen_input, invocation.redirects))
    return reads_input and _reads_program(name, invocation.arguments)


def _commands_of_parallel(parallel: Invocation) -> Sequence[str]:
    listed = values(parallel, "aj", "--arg-file", "--jobs")
    return [operand for operand in parallel.operands if operand not in listed][:1]


def _is_unseen_input(redirect: ShellRedirect) -> bool:
    """Whether the input is an open descriptor, the output of a command, or an unknown file."""
    return redirect.operator == "<&" or (redirect.operator in ("<", "<>") and UNKNOWN in redirect.target)


def _reads_program(name: str, arguments: Sequence[str]) -> bool:
    """Whether an interpreter with these arguments runs its input instead of a file or an argument."""
    rest = list(arguments)
    options: list[str] = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        options.append(rest.pop(0))
        if name in SHELLS and re.fullmatch(r"-\w*[oO]", options[-1]):  # as in `-euo pipefail`
            del rest[:1]
    letters = {letter for option in options if not option.startswith("--") for letter in option[1:]}
    if name in SHELLS and "s" in letters and "c" not in letters:
        return True  # what follows are its arguments
    if rest[:1] == ["--"]:
        del rest[0]
    if rest and rest[0] not in words("interpreters", "standard_input"):
        return False
    if name in SHELLS:
        return letters.isdisjoint("cn") and not {"--version", "--help"}.intersection(options)
    return all(option in ("-s", "-x", "-e", "-u", "-l", "-i") for option in options)


def packs_with_program(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether `tar` uses a program that is not a known compressor."""
    programs = values(invocation, "I", "--use-compress-program")
    return any(
        program.split(" ")[0].rpartition("/")[2] not in words("interpreters", "packers")
        for program in programs
    )


# --- processes and software -----------------------------------------------------------------------


def kills_by_number(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether `kill` ends other processes than jobs of this shell."""
    arguments = invocation.arguments
    targets = arguments[1:] if arguments[:1] and arguments[0].startswith("-") else arguments
    # Without a target it is `xargs` that gives it some.
    return not targets or any(UNKNOWN in target or re.fullmatch(r"-?\d+", target) for target in targets)


def is_in_environment(invocation: Invocation, context: CommandContext) -> bool:
    """Whether `pip` is that of an environment in the session's folder."""
    if context.venv:
        return True
    path = invocation.path(invocation.program) if "/" in invocation.program else None
    roots = context.paths.real_roots(context.workdir)
    return path is not None and any(is_inside(path, root) for root in roots)


def is_in_project(invocation: Invocation, context: CommandContext) -> bool:
    """Whether `npx` or the like runs an installed program of the project, without a download."""
    if invocation.has("-c", "--call", "-p", "--package", "--yes", "-y") or not invocation.operands:
        return False
    name, roots = invocation.operands[0], context.paths.real_roots(context.workdir)
    folders = [invocation.folder, *map(str, Path(invocation.folder).parents)]
    return "/" not in name and any(
        Path(folder, "node_modules", ".bin", name).exists()
        for folder in folders
        if any(is_inside(context.real(folder), root) for root in roots)
    )


CHECKS = (runs_unseen, packs_with_program, kills_by_number, is_in_environment, is_in_project)
