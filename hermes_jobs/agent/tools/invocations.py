"""Extracts the programs that a shell text would run, through wrappers and nested shells."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import dropwhile

from hermes_jobs.agent.tools.shell_parser import ASSIGNMENT, parse
from hermes_jobs.agent.tools.shell_words import UNKNOWN, ShellRedirect, SimpleCommand, Unparsable
from hermes_jobs.agent.tools.wrappers import after_c, text_for_shell, wrapped, wrappers

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
MAX_INVOCATIONS = 1_000
MAX_WRAPPED = 100  # nesting of programs that run others


@dataclass(frozen=True)
class Invocation:
    """A program with its arguments, in the folder where it would run.

    `name` is without its path; `words` are all words as in the text. `piped`: it reads another's output,
    `echoed` where that is what `echo` prints. `input`: its here-documents and here-strings. `given`: `xargs`
    or the like adds arguments. `inner`: a project's runner such as `uv run` starts it.
    """

    name: str
    arguments: tuple[str, ...]
    words: tuple[str, ...]
    folder: str
    redirects: tuple[ShellRedirect, ...] = ()
    piped: bool = False
    input: str = ""
    given: bool = False
    echoed: str = ""
    inner: bool = False

    @property
    def program(self) -> str:
        """The program as it is written, with its path."""
        return next((word for word in self.words if ASSIGNMENT.fullmatch(word) is None), "")

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are not options."""
        plain = [argument for argument in self.arguments if argument != "--"]
        return tuple(word for word in plain if not word.startswith("-") or word == "-")

    def has(self, *options: str) -> bool:
        """Whether one of the options is given: `--long` (or `--long=…`) or `-x`, alone or in a cluster."""
        return any(_is_option(argument, option) for argument in self.arguments for option in options)

    def path(self, word: str) -> str | None:
        """The absolute path of a word; None if only the shell knows it."""
        if UNKNOWN in word:
            return None
        path = os.path.normpath(os.path.join(self.folder, word))
        return path[1:] if path.startswith("//") else path  # POSIX has `normpath` keep exactly two


def without_version(name: str) -> str:
    """The name of a program without a version at its end, as in `python3.11`."""
    return re.sub(r"(?<=\D)[\d.]+$", "", name)


def _is_option(argument: str, option: str) -> bool:
    if option.startswith("--"):
        return argument == option or argument.startswith(f"{option}=")
    return argument.startswith("-") and not argument.startswith("--") and option[1:] in argument[1:]


def invocations(text: str, folder: str, variables: Mapping[str, str]) -> list[Invocation]:
    """All programs that the text may run, outer before inner, `cd` followed. Raises `Unparsable`."""
    programs: list[Invocation] = []
    _add(parse(text, variables), folder, variables, 0, programs)
    return programs


def _add(
    commands: list[SimpleCommand],
    folder: str,
    variables: Mapping[str, str],
    depth: int,
    invocations: list[Invocation],
) -> None:
    before: SimpleCommand | None = None
    folders: dict[tuple[int, ...], str] = {(): folder}
    for command in commands:
        around = (command.subshell[:length] for length in range(len(command.subshell), -1, -1))
        folder = next(folders[subshell] for subshell in around if subshell in folders)
        echoed = _echoed(before) if command.piped and before is not None else ""
        for inner, invocation in _layers(command, folder, echoed):
            invocations.append(invocation)
            for script in _scripts(invocation, inner):
                _add(parse(script, variables, depth + 1), folder, variables, depth + 1, invocations)
            if invocation.name in ("cd", "pushd"):
                target = invocation.path(next(iter(invocation.operands), variables.get("HOME", folder)))
                folder = target or folder
        folders[command.subshell] = folder
        before = command
        if len(invocations) > MAX_INVOCATIONS:
            raise Unparsable("it holds too many commands")


def _echoed(command: SimpleCommand) -> str:
    """The printed text of `echo` or `printf`; empty for other commands."""
    if command.words[:1] not in (("echo",), ("printf",)) or command.redirects:
        return ""
    return " ".join(word for word in command.words[1:] if word not in ("-n", "-e"))


def _layers(command: SimpleCommand, folder: str, echoed: str) -> Iterator[tuple[SimpleCommand, Invocation]]:
    """The command itself, then the wrapped ones, outer before inner. Raises `Unparsable`."""
    open_words = [command.words]
    has_extra, inside, count = False, False, 0
    while open_words:
        count += 1
        if count > MAX_WRAPPED:
            raise Unparsable("it holds too many commands")
        words = open_words.pop(0)
        plain = tuple(dropwhile(ASSIGNMENT.fullmatch, words))
        name = os.path.basename(plain[0]).removesuffix(".exe") if plain else ""
        yield (
            replace(command, words=plain),
            Invocation(
                name,
                plain[1:],
                words,
                folder,
                redirects=command.redirects,
                piped=command.piped,
                input=command.input,
                given=has_extra,
                echoed=echoed,
                inner=inside,
            ),
        )
        has_extra = has_extra or name in ("xargs", "parallel")
        inside = inside or (name in wrappers() and bool(wrappers()[name].verbs))
        open_words.extend(inner for inner in wrapped(name, plain[1:]) if inner)


def _scripts(invocation: Invocation, command: SimpleCommand) -> Iterator[str]:
    """Shell text that the invocation runs: as an argument, as its input, or piped into it."""
    name, arguments = invocation.name, invocation.arguments
    if name == "eval":
        yield " ".join(arguments)
    elif name == "trap" and invocation.operands:
        yield invocation.operands[0]
    elif name == "alias":
        yield from (argument.partition("=")[2] for argument in arguments if "=" in argument)
    elif (text := text_for_shell(name, arguments)) is not None:
        yield text
    elif name in ("su", "script") or name in SHELLS:
        script = after_c(arguments, anywhere=name not in SHELLS)
        if script is not None:
            yield script
        elif not invocation.operands or "-s" in arguments:
            yield command.input
            yield invocation.echoed
