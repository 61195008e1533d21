"""From shell text to the programs that would run: wrappers, nested shells and `find -exec` taken apart."""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import dropwhile

import msgspec

from hermes_jobs.agent.tools.shell_parser import ASSIGNMENT, parse
from hermes_jobs.agent.tools.shell_words import UNKNOWN, ShellRedirect, SimpleCommand, Unparsable
from hermes_jobs.agent.tools.tables import load

_SPLIT_STRING = re.compile(r"(?:-[iv0]*S|--split-string(?:=|$))(?P<text>.*)", re.DOTALL)  # of `env`
_ASKS_WHERE = re.compile(r"-p?[vV]")  # of `command`, which then runs nothing
_FIND_OPTION = re.compile(r"-[HLP]|-O\d")  # they stand before the folders

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"})
MAX_INVOCATIONS = 1_000
MAX_WRAPPED = 100  # programs that one command runs by way of its arguments


@dataclass(frozen=True)
class Invocation:
    """A program with its arguments, in the folder where it would run.

    `name` is without its path; `written` are all words as in the text. `piped`: it reads another's output.
    `input`: its here-documents and here-strings. `given`: `xargs` or the like adds arguments.
    """

    name: str
    arguments: tuple[str, ...]
    written: tuple[str, ...]
    folder: str
    redirects: tuple[ShellRedirect, ...] = ()
    piped: bool = False
    input: str = ""
    given: bool = False

    @property
    def program(self) -> str:
        """The program as it is written, with its path."""
        return next((each for each in self.written if ASSIGNMENT.fullmatch(each) is None), "")

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are no options."""
        plain = [each for each in self.arguments if each != "--"]
        return tuple(each for each in plain if not each.startswith("-") or each == "-")

    def has(self, *options: str) -> bool:
        """Whether one of the options is given: `--long` (or `--long=…`) or `-x`, alone or in a cluster."""
        return any(_is_option(each, option) for each in self.arguments for option in options)

    def path(self, word: str) -> str | None:
        """The absolute path that a word names; None where only the shell will know it."""
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
    found: list[Invocation] = []
    _add(parse(text, variables), folder, variables, 0, found)
    return found


def _add(
    commands: list[SimpleCommand],
    folder: str,
    variables: Mapping[str, str],
    depth: int,
    found: list[Invocation],
) -> None:
    before: SimpleCommand | None = None
    folders: dict[tuple[int, ...], str] = {(): folder}
    for command in commands:
        around = (command.subshell[:length] for length in range(len(command.subshell), -1, -1))
        folder = next(folders[each] for each in around if each in folders)
        for inner, invocation in _layers(command, folder):
            found.append(invocation)
            for script in _scripts(invocation, inner, before):
                _add(parse(script, variables, depth + 1), folder, variables, depth + 1, found)
            if invocation.name in ("cd", "pushd"):
                target = invocation.path(next(iter(invocation.operands), variables.get("HOME", folder)))
                folder = target or folder
        folders[command.subshell] = folder
        before = command
        if len(found) > MAX_INVOCATIONS:
            raise Unparsable("it holds too many commands")


def _layers(command: SimpleCommand, folder: str) -> Iterator[tuple[SimpleCommand, Invocation]]:
    """The command itself, then what it wraps, outer before inner. Raises `Unparsable`."""
    open_words = [command.words]
    given, count = False, 0
    while open_words:
        count += 1
        if count > MAX_WRAPPED:
            raise Unparsable("it holds too many commands")
        words = open_words.pop(0)
        plain = tuple(dropwhile(ASSIGNMENT.fullmatch, words))
        inner = replace(command, words=plain)
        name = os.path.basename(plain[0]) if plain else ""
        yield (
            inner,
            Invocation(
                name, plain[1:], words, folder, command.redirects, command.piped, command.input, given
            ),
        )
        given = given or name in ("xargs", "parallel")
        open_words.extend(each for each in _wrapped(name, plain[1:]) if each)


# --- what runs something else ------------------------------------------------------------------


class Wrapper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs the program after its own arguments. `valued`: its short options with a value;
    `joins`: it gives what follows to a shell, as one text."""

    valued: str = ""
    operands: int = 0
    long_valued: tuple[str, ...] = ()
    joins: bool = False


@cache
def _wrappers() -> Mapping[str, Wrapper]:
    return msgspec.convert(load("wrappers")["wrappers"], dict[str, Wrapper])


def _wrapped(name: str, arguments: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words of each program that this one runs with its own arguments."""
    if name == "find":
        return _find_execs(arguments)
    if name in ("fd", "fdfind"):
        at = next(
            (i for i, each in enumerate(arguments) if each in ("-x", "-X", "--exec", "--exec-batch")), None
        )
        return [] if at is None else [(*arguments[at + 1 :], UNKNOWN)]
    return [] if _text_for_shell(name, arguments) is not None else [_after_own(name, arguments)]


def _text_for_shell(name: str, arguments: tuple[str, ...]) -> str | None:
    """The text that a wrapper gives to a shell; None where it runs its words as they are."""
    wrapper = _wrappers().get(name)
    words = _after_own(name, arguments)
    if wrapper is not None and wrapper.joins:
        return " ".join(words)
    return _after_c(words) if name == "flock" else None


def _after_own(name: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What follows a wrapper's own arguments; nothing where it is none."""
    wrapper = _wrappers().get(name)
    if wrapper is None or (name == "command" and _ASKS_WHERE.fullmatch(next(iter(arguments), ""))):
        return ()
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "--":
            break
        if name == "env" and (split := _SPLIT_STRING.fullmatch(option)):
            text = split["text"] or (rest.pop(0) if rest else "")
            return (*text.split(), *rest)
        takes_value = option in wrapper.long_valued or (len(option) == 2 and option[1] in wrapper.valued)
        if takes_value and rest:
            rest.pop(0)
    if name in ("env", "sudo"):
        while rest and ASSIGNMENT.fullmatch(rest[0]):
            rest.pop(0)
    return tuple(rest[wrapper.operands :])


def _find_execs(arguments: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The command of each `-exec`, with the folders searched, unless a test picks among the files."""
    given = (UNKNOWN,) if is_narrowed(arguments) else find_starts(arguments)
    commands: list[list[str]] = []
    is_open = False
    for word in arguments:
        if is_open and word not in (";", "+"):
            commands[-1].extend(given if word == "{}" else (word,))
        elif is_open:
            is_open = False
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            commands.append([])
            is_open = True
    return [tuple(each) for each in commands]


def find_starts(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The folders in which a `find` begins."""
    starts = []
    for each in arguments:
        if _FIND_OPTION.fullmatch(each):
            continue
        if each.startswith(("-", "(", "!")):
            break
        starts.append(each)
    return tuple(starts) or (".",)


def is_narrowed(arguments: tuple[str, ...]) -> bool:
    """Whether a `find` picks files by a test of their names or state."""
    return not {"-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-mtime", "-newer"}.isdisjoint(
        arguments
    )


def _scripts(invocation: Invocation, command: SimpleCommand, before: SimpleCommand | None) -> Iterator[str]:
    """Shell text that the invocation runs: as an argument, as its input, or piped into it."""
    name, arguments = invocation.name, invocation.arguments
    if name == "eval":
        yield " ".join(arguments)
    elif name == "trap" and invocation.operands:
        yield invocation.operands[0]
    elif name == "alias":
        yield from (each.partition("=")[2] for each in arguments if "=" in each)
    elif (text := _text_for_shell(name, arguments)) is not None:
        yield text
    elif name in ("su", "script") or name in SHELLS:
        given = _after_c(arguments, anywhere=name not in SHELLS)
        if given is not None:
            yield given
        elif not invocation.operands or "-s" in arguments:
            yield command.input
            if command.piped and before is not None and before.words[:1] in (("echo",), ("printf",)):
                yield " ".join(word for word in before.words[1:] if word not in ("-n", "-e"))


def _after_c(arguments: tuple[str, ...], *, anywhere: bool = False) -> str | None:
    """What follows `-c`, which may stand in a cluster such as `-lc`; `anywhere`: also behind operands."""
    for index, each in enumerate(arguments):
        if each == "--command" or (each.startswith("-") and not each.startswith("--") and "c" in each[1:]):
            return next(iter(arguments[index + 1 :]), "")
        if not (anywhere or each.startswith("-")):
            return None
    return None
