"""Extracts the programs that a shell text would run, through wrappers and nested shells."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import dropwhile

from hermes_jobs.text.clip import one_line
from hermes_jobs.tools.carried import carried, carried_texts
from hermes_jobs.tools.judging_budget import Budget
from hermes_jobs.tools.long_options import with_whole_options
from hermes_jobs.tools.shell_parser import ASSIGNMENT, parse
from hermes_jobs.tools.shell_words import UNKNOWN, ShellRedirect, SimpleCommand
from hermes_jobs.tools.wrappers import after_c, text_for_shell, wrapped, wrappers

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})


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
        path = os.path.join(self.folder, word)
        if _PARENT.search(word):  # behind a link `..` leads elsewhere
            path = _without_parents(path)
        path = os.path.normpath(path)
        return path[1:] if path.startswith("//") else path  # POSIX has `normpath` keep exactly two


def shown(invocation: Invocation) -> str:
    """The beginning of its words, for a question."""
    return one_line(" ".join(invocation.words).replace(UNKNOWN, "…"), 80)


_PARENT = re.compile(r"(?:^|/)\.\.(?:/|$)")
_MOST_PARENTS = 40


@lru_cache(maxsize=4096)
def _without_parents(path: str) -> str:
    """The path with the parts up to its last `..` resolved as the system does it."""
    before, parent, rest = path.rpartition("/..")
    if not parent or path.count("/..") > _MOST_PARENTS or len(path) > _MOST_CHARACTERS:
        return path
    return f"{os.path.realpath(f'{before}/..')}{rest}"


_MOST_CHARACTERS = 4096


def without_version(name: str) -> str:
    """The name of a program without a version at its end, as in `python3.11`."""
    return name.rstrip("0123456789.") or name


def _is_option(argument: str, option: str) -> bool:
    if option.startswith("--"):
        return argument == option or argument.startswith(f"{option}=")
    return argument.startswith("-") and not argument.startswith("--") and option[1:] in argument[1:]


def invocations(
    text: str, folder: str, variables: Mapping[str, str], budget: Budget | None = None
) -> list[Invocation]:
    """All programs that the text may run, outer before inner, `cd` followed. Raises `Unparsable`."""
    programs: list[Invocation] = []
    _without_parents.cache_clear()  # links may have changed
    _Programs(variables, budget or Budget(), programs).add(text, folder)
    return programs


@dataclass(frozen=True)
class _Programs:
    variables: Mapping[str, str]
    budget: Budget
    found: list[Invocation]

    def add(self, text: str, folder: str) -> None:
        """Append the programs of a shell text that runs in a folder."""
        before: SimpleCommand | None = None
        commands = parse(text, self.variables, self.budget)
        folders: dict[tuple[int, ...], str] = {(): folder}
        left = folder
        for command in commands:
            around = (command.subshell[:length] for length in range(len(command.subshell), -1, -1))
            folder = next(folders[subshell] for subshell in around if subshell in folders)
            echoed = _echoed(before) if command.piped and before is not None else ""
            for inner, invocation in _layers(command, folder, echoed, self.budget):
                self.found.append(invocation)
                for script in _scripts(invocation, inner):
                    later = self._with_constants(text, commands) if invocation.name == "trap" else self
                    with self.budget.deeper():
                        later.add(script, folder)
                if invocation.name in ("cd", "pushd"):
                    target = next(iter(invocation.operands), self.variables.get("HOME", folder))
                    left, folder = folder, left if target == "-" else _entered(folder, target)
            folders[command.subshell] = folder
            before = command

    def _with_constants(self, text: str, commands: list[SimpleCommand]) -> _Programs:
        """The same, with the variables that the text sets once: they are the same when a trap runs."""
        assigned = [
            word.partition("=") for command in commands for word in command.words if len(command.words) == 1
        ]
        once = {
            name: value
            for name, equals, value in assigned[:_MAX_CONSTANTS]
            if equals
            and name.isidentifier()
            and (value == "%+" or UNKNOWN not in value)
            and len(re.findall(rf"(?<![\w$-])(?<!\${{){name}\b", text)) == 1
        }
        return replace(self, variables={**self.variables, **once})


_MAX_CONSTANTS = 20


def _entered(folder: str, target: str) -> str:
    """The folder to which `cd` goes, by the names in it; the same where that is not known."""
    return folder if UNKNOWN in target else os.path.normpath(os.path.join(folder, target))


def _echoed(command: SimpleCommand) -> str:
    """The printed text of `echo` or `printf`; empty for other commands."""
    if command.words[:1] not in (("echo",), ("printf",)) or command.redirects:
        return ""
    return " ".join(word for word in command.words[1:] if word not in ("-n", "-e"))


def _layers(
    command: SimpleCommand, folder: str, echoed: str, budget: Budget
) -> Iterator[tuple[SimpleCommand, Invocation]]:
    """The command itself, then the wrapped ones, outer before inner. Raises `Unparsable`."""
    open_words = [command.words]
    has_extra, inside = False, False
    while open_words:
        words = open_words.pop(0)
        plain = tuple(dropwhile(ASSIGNMENT.fullmatch, words))
        name = os.path.basename(plain[0]).removesuffix(".exe") if plain else ""
        plain = (*plain[:1], *with_whole_options(name, plain[1:]))
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
        program = next(iter(plain), "")
        for inner in filter(None, (*wrapped(name, plain[1:]), carried(name, program, plain[1:]))):
            budget.command()
            budget.words(len(inner))
            open_words.append(inner)


def _scripts(invocation: Invocation, command: SimpleCommand) -> Iterator[str]:
    """Shell text that the invocation runs: as an argument, as its input, or piped into it."""
    name, arguments = invocation.name, invocation.arguments
    if name == "eval":
        yield " ".join(arguments)
    elif name == "trap" and invocation.operands:
        yield invocation.operands[0]
    elif name == "alias":
        yield from (argument.partition("=")[2] for argument in arguments if "=" in argument)
    elif name == "git" and invocation.operands[:2] == ("submodule", "foreach"):
        yield " ".join(arguments[arguments.index("foreach") + 1 :]).removeprefix("--recursive ")
    elif (text := text_for_shell(name, arguments)) is not None:
        yield text
    elif name in ("su", "script") or name in SHELLS:
        script = after_c(arguments, anywhere=name not in SHELLS)
        if script is not None:
            yield script
        elif not invocation.operands or "-s" in arguments:
            yield command.input
            yield invocation.echoed
    else:
        yield from carried_texts(name, invocation.program, arguments)
