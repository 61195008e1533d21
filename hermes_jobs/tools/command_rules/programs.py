"""Checks for unseen code, killed processes, and the target of `pip`."""

# Paths are compared as text, which pathlib hides; a path that is too long is not there.
# ruff: noqa: PTH110, PTH118

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import SHELLS, Invocation, without_version
from hermes_jobs.tools.shell_words import SUBSTITUTED, UNKNOWN, ShellRedirect
from hermes_jobs.tools.tables import load, pattern, words

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
    runs_code = name.lower() in words("interpreters", "languages") | SHELLS | {"java", "dotnet", "mono"}
    if runs_code and UNKNOWN in invocation.input and not invocation.operands:
        return True
    if runs_code and name not in SHELLS and _is_unseen_script(invocation):
        return True
    seen = bool(invocation.echoed) and UNKNOWN not in invocation.echoed  # it is judged as code
    if name not in SHELLS | words("interpreters", "interpreters"):
        return runs_code and invocation.piped and not seen and not set(invocation.operands) - {"-"}
    unseen = (UNKNOWN, SUBSTITUTED) if name in SHELLS else SUBSTITUTED
    if _only_checks(name, invocation.arguments):
        return False
    if any(operand.startswith(unseen) for operand in invocation.operands[:1]):
        return True
    if invocation.given and _CODE_FOLLOWS.fullmatch("".join(invocation.arguments[-1:])):
        return True
    if seen and name not in SHELLS and not invocation.given:
        return False
    reads_input = invocation.piped or invocation.given or any(map(_is_unseen_input, invocation.redirects))
    return reads_input and _reads_program(name, invocation.arguments)


def _is_unseen_script(invocation: Invocation) -> bool:
    """Whether the script of an interpreter is the output of a command, or an address."""
    operands = list(dropwhile(_RUNNING_VERBS.__contains__, invocation.operands))
    script = next(iter(operands), "")
    return script.startswith(SUBSTITUTED) or re.match(r"https?://\S+$", script) is not None


_RUNNING_VERBS = frozenset(("run", "script", "fsi", "exec", "e", "test"))


def _only_checks(name: str, arguments: Sequence[str]) -> bool:
    """Whether an interpreter only looks at the syntax of what it is given."""
    if name in SHELLS:
        return arguments[:1] == ("-n",)
    return {"ruby": ("-c",), "php": ("-l",), "node": ("--check",)}.get(name) == tuple(arguments)


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
    usual = ("-s", "-x", "-e", "-u", "-l", "-i")
    return all(option in usual or option.startswith("--input-type") for option in options)


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
    elsewhere = _beyond_declared(invocation, context)
    if any("://" in word for word in invocation.arguments) or any(
        not word.startswith(("--target", "--prefix", "-t")) for word in elsewhere
    ):
        return False
    if context.venv:
        return True
    path = invocation.path(invocation.program) if "/" in invocation.program else None
    roots = context.paths.real_roots(context.workdir)
    return path is not None and any(is_inside(path, root) for root in roots)


def _beyond_declared(invocation: Invocation, context: CommandContext) -> list[str]:
    """The options that name other sources or places than the project's; a folder of its own is none."""
    roots = context.paths.real_roots(context.workdir)
    sources = [invocation.path(folder) for folder in values(invocation, "", "--find-links")]
    own = all(path and any(is_inside(context.real(path), root) for root in roots) for path in sources)
    return [
        word
        for word in invocation.arguments
        if pattern("software", "beyond_declared").match(word)
        and not (own and word.partition("=")[0] == "--find-links")
    ]


def runs_fetched_program(invocation: Invocation, context: CommandContext) -> bool:
    """Whether `npx` or the like runs a program that is neither the project's nor a well-known tool."""
    words_of_it = list(invocation.arguments)
    if invocation.name in words("software", "fetching_managers"):
        operands = invocation.operands
        if operands[:1] and operands[0] in words("software", "fetching_verbs"):
            words_of_it = words_of_it[words_of_it.index(operands[0]) + 1 :]
        else:
            return False
    elif invocation.name == "pipx":
        if invocation.operands[:1] != ("run",):
            return False
        words_of_it = words_of_it[words_of_it.index("run") + 1 :]
    options = list(takewhile(lambda word: word.startswith("-"), words_of_it))
    if not words_of_it[len(options) :]:
        return bool(options) and options[0] not in ("--version", "-v", "--help", "-h")
    if not words("software", "offline_options").isdisjoint(options):
        return False
    if not set(options) <= words("software", "fetching_options"):
        return True
    name = words_of_it[len(options)]
    if re.sub(r"@[\w.^~-]+$", "", name) in words("software", "known_tools"):
        return False
    return not _is_installed(name, invocation.folder, context)


def _is_installed(name: str, folder: str, context: CommandContext) -> bool:
    """Whether the project has the program in its `node_modules`."""
    roots = context.paths.real_roots(context.workdir)
    folders = [folder, *map(str, Path(folder).parents)]
    return "/" not in name and any(
        os.path.exists(os.path.join(folder, "node_modules", ".bin", name))
        for folder in folders
        if any(is_inside(context.real(folder), root) for root in roots)
    )


def installs_declared(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it installs only what the project declares, into the project's own environment."""
    roots = context.paths.real_roots(context.workdir)
    if not any(is_inside(context.real(invocation.folder), root) for root in roots):
        return False
    if _beyond_declared(invocation, context):
        return False
    files = values(invocation, "rfe", "--requirement", "--file", "--editable")
    others = values(invocation, "j", "--find-links", *load("software")["tables"]["grouping_options"].split())
    rest = [word for word in invocation.operands if word not in (*files, *others)]
    declared = words("software", "declared")
    verbs = 2 if " ".join(rest[:2]) in load("software")["declared_lines"] else 1
    if verbs == 1 and rest[:1] and rest[0] not in declared:
        return " ".join(rest) in load("software")["declared_lines"]
    return all(re.fullmatch(r"\.(?:\[[\w,-]+\])?", word) for word in rest[verbs:]) and all(
        "://" not in file
        and (path := invocation.path(file)) is not None
        and any(is_inside(context.real(path), root) for root in roots)
        for file in files
    )


_ATTACHES = frozenset(
    [
        "-x",
        "--command",
        "-p",
        "--pid",
        "-S",
        "-s",
        "--source",
        "-n",
        "--attach-name",
        "-ix",
        "-iex",
        "--init-command",
    ]
)


def debugs_own_program(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a debugger runs a program of the session's folders, with commands that only look."""
    commands = values(invocation, "", "--eval-command", "--one-line")
    for option, following in pairwise(invocation.arguments):
        if option in ("-ex", "-o", "-O", "--ex"):
            commands.append(following)
    operands = [word for word in invocation.operands if word not in commands]
    path = invocation.path(operands[0]) if operands else None
    if path is None or not _ATTACHES.isdisjoint(
        argument.partition("=")[0] for argument in invocation.arguments
    ):
        return False
    roots = context.paths.real_roots(context.workdir)
    own = any(is_inside(context.real(path), root) for root in roots)
    return own and all(map(pattern("interpreters", "looking_in_debugger").fullmatch, commands))


CHECKS = (
    debugs_own_program,
    runs_unseen,
    packs_with_program,
    kills_by_number,
    is_in_environment,
    runs_fetched_program,
    installs_declared,
)
