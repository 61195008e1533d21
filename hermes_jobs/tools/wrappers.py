"""Programs that run others: the words or the text of the inner program after their own arguments."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import cache
from itertools import dropwhile, pairwise

import msgspec

from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.judging_budget import MAX_CHARACTERS, MAX_WORDS, Unparsable
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, words

_SPLIT_STRING = re.compile(r"(?:-[iv0]*S|--split-string(?:=|$))(?P<text>.*)", re.DOTALL)  # of `env`
_LOOKUP_OPTION = re.compile(r"-p?[vV]")  # of `command`, with which it runs nothing
_FIND_OPTION = re.compile(r"-[HLP]|-O\d")  # they precede the folders


_WATCHERS = {"nodemon": ("-x", "--exec"), "cargo": ("-s", "--shell"), "chokidar": ("-c", "--command")}
"""Programs that give the value of an option to a shell each time a file has changed."""


class Wrapper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs the program after its own arguments.

    `valued`: its short options with a value, `long_valued`: the long ones; `operands`: the number before the
    program; `joins`: the rest is one text for a shell, `texts`: each operand is one; `verbs`: only if one of
    them is its first operand."""

    valued: str = ""
    operands: int = 0
    long_valued: tuple[str, ...] = ()
    joins: bool = False
    texts: bool = False
    verbs: str = ""


@cache
def wrappers() -> Mapping[str, Wrapper]:
    """The wrappers by their names: `data/wrappers.toml`."""
    return msgspec.convert(load("wrappers")["wrappers"], described(dict[str, Wrapper]))


def wrapped(name: str, arguments: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The words of each program that this one runs with given arguments."""
    if name == "find":
        return _find_execs(arguments)
    if name in ("fd", "fdfind"):
        index = next(
            (i for i, argument in enumerate(arguments) if argument in ("-x", "-X", "--exec", "--exec-batch")),
            None,
        )
        return [] if index is None else [(*arguments[index + 1 :], UNKNOWN)]
    if name == "git" and "bisect" in arguments:
        return wrapped("git-bisect", arguments[arguments.index("bisect") + 1 :])
    if text_for_shell(name, arguments) is not None:
        return []
    if name in ("docker", "podman", "docker-compose"):
        return [composed(arguments if name != "docker-compose" else ("compose", *arguments))]
    words = _after_own(name, arguments)
    replaced = _replaced_by_xargs(arguments) if name == "xargs" else ""
    return [tuple(word.replace(replaced, UNKNOWN) for word in words) if replaced else words]


def composed(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The program that `docker compose exec SERVICE` or `run` starts; empty for others, and for a shell."""
    if arguments[:1] != ("compose",):
        return ()
    options = Wrapper(
        valued="fpuwe", long_valued=("--file", "--profile", "--user", "--workdir", "--env", "--name")
    )
    rest = _after_options(options, arguments[1:])
    if rest[:1] not in (("exec",), ("run",)):
        return ()
    inner = _after_options(options, rest[1:])[1:]
    return () if inner[:1] and inner[0].rpartition("/")[2] in ("sh", "bash", "ash", "zsh", "dash") else inner


def _replaced_by_xargs(arguments: tuple[str, ...]) -> str:
    """The text that `xargs` replaces by its input; empty if it appends it."""
    for index, argument in enumerate(arguments):
        if argument.startswith(("-I", "--replace=")):
            joined = argument.removeprefix("--replace=").removeprefix("-I")
            return joined or "".join(arguments[index + 1 : index + 2])
        if not argument.startswith("-"):
            break
    return ""


def text_for_shell(name: str, arguments: tuple[str, ...]) -> str | None:
    """The text that a wrapper passes to a shell; None if it runs its words directly."""
    wrapper = wrappers().get(name)
    words = _after_own(name, arguments)
    if name == "watch" and _runs_directly(arguments[: len(arguments) - len(words)]):
        return None
    if wrapper is not None and (wrapper.joins or wrapper.texts):
        if name == "parallel":
            return _in_parallel(words)
        return " ".join(words) if wrapper.joins else "\n".join(word for word in words if word[:1] != "-")
    if name in _WATCHERS and (name != "cargo" or arguments[:1] == ("watch",)):
        return next((text for option, text in pairwise(arguments) if option in _WATCHERS[name]), None)
    return after_c(words) if name == "flock" else None


def _runs_directly(options: tuple[str, ...]) -> bool:
    """Whether `watch` with these options runs its words without a shell."""
    return any(re.fullmatch(r"-[a-z]*x[a-z]*|--exec", option) for option in options)


def _in_parallel(words: tuple[str, ...]) -> str:
    """The lines that `parallel` runs: one for each value behind `:::`, and one for unseen values."""
    marks = [index for index, word in enumerate(words) if word in (":::", ":::+", "::::", "::::+")]
    command = " ".join(words[: marks[0]] if marks else words)
    given = words[marks[0] + 1 :] if marks else ()
    if len(given) * max(len(command), 1) > MAX_CHARACTERS:
        raise Unparsable("it expands to too much text")
    if not command:
        return "\n".join(given)
    values = (UNKNOWN, *(shlex.quote(word) for word in given if not word.startswith(":::")))
    return "\n".join(
        command.replace("{}", value) if "{}" in command else f"{command} {value}" for value in values
    )


def _after_own(name: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The words after a wrapper's own arguments; empty if it is not a wrapper."""
    wrapper = wrappers().get(name)
    if wrapper is None or (name == "command" and _LOOKUP_OPTION.fullmatch(next(iter(arguments), ""))):
        return ()
    rest = _after_options(wrapper, arguments)
    split = _split_string(arguments, len(arguments) - len(rest)) if name == "env" else None
    if split is not None:
        return split
    if wrapper.verbs:
        if not rest or rest[0] not in wrapper.verbs.split():
            return ()
        rest = _after_options(wrapper, rest[1:])
    if name in ("env", "sudo", "cross-env", "cross-env-shell"):
        rest = tuple(dropwhile(ASSIGNMENT.fullmatch, rest))
    rest = rest[wrapper.operands :]
    return rest[1:] if wrapper.operands and rest[:1] == ("--",) else rest


def _after_options(wrapper: Wrapper, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The words after the options at the beginning, and `--`."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "-":
        option = arguments[index]
        index += 1
        if option == "--":
            break
        if option in wrapper.long_valued or (len(option) == 2 and option[1] in wrapper.valued):
            index += 1
    return arguments[index:]


def _split_string(arguments: tuple[str, ...], options: int) -> tuple[str, ...] | None:
    """The words of `env -S`, with those after it; None without that option."""
    for index, option in enumerate(arguments[:options]):
        if split := _SPLIT_STRING.fullmatch(option):
            text, rest = split["text"], arguments[index + 1 :]
            return (*text.split(), *rest) if text else (*"".join(rest[:1]).split(), *rest[1:])
    return None


def _find_execs(arguments: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The command of each `-exec`, with the folders searched, unless a test picks among the files; with the
    caches that a test picks."""
    folders = find_starts(arguments)
    if is_narrowed(arguments):
        cache = _only_cache(arguments)
        folders = tuple(f"{folder}/{cache}" for folder in folders) if cache else (UNKNOWN,)
    commands: list[list[str]] = []
    is_open = False
    if len(folders) * arguments.count("{}") > MAX_WORDS:
        raise Unparsable("it holds too many words")
    for word in arguments:
        if is_open and word not in (";", "+"):
            commands[-1].extend(folders if word == "{}" else (word,))
        elif is_open:
            is_open = False
        elif word in ("-exec", "-execdir", "-ok", "-okdir"):
            commands.append([])
            is_open = True
    return [tuple(command) for command in commands]


def _only_cache(arguments: tuple[str, ...]) -> str:
    """The name of the caches that are all that a `find` finds; empty where it may find more."""
    tests = [word for word in arguments if word.startswith(("-", "!", "(", ")", ","))]
    name = dict(pairwise(arguments)).get("-name", "")
    only = {"-name", "-type", "-prune", "-depth", "-maxdepth", "-mindepth", "-exec", "-execdir", "-print"}
    before = tests[: next((at for at, test in enumerate(tests) if test.startswith("-exec")), 0)]
    is_only = only.issuperset(before) and tests.count("-name") == 1 and name in words("deletions", "caches")
    return name if is_only else ""


def find_starts(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The start folders of a `find`."""
    starts = []
    for argument in arguments:
        if _FIND_OPTION.fullmatch(argument):
            continue
        if argument.startswith(("-", "(", "!")):
            break
        starts.append(argument)
    return tuple(starts) or (".",)


def is_narrowed(arguments: tuple[str, ...]) -> bool:
    """Whether a `find` selects files by a test of their names or state."""
    return not {"-name", "-iname", "-path", "-ipath", "-regex", "-empty", "-mtime", "-newer"}.isdisjoint(
        arguments
    )


_JOINED_TEXT = re.compile(r"(?:(?P<long>--command=)|-[a-z]*?c(?=.))(?P<text>.*)", re.DOTALL)


def after_c(arguments: tuple[str, ...], *, anywhere: bool = False) -> str | None:
    """The word after `-c`, which may be in a cluster such as `-lc`; `anywhere`: also after operands, or
    joined to it."""
    for index, argument in enumerate(arguments):
        joined = _JOINED_TEXT.fullmatch(argument)
        if joined and (anywhere or joined["long"]):
            return joined["text"]
        if argument == "--command" or (
            argument.startswith("-") and not argument.startswith("--") and "c" in argument[1:]
        ):
            return next(iter(arguments[index + 1 :]), "")
        if not (anywhere or argument.startswith("-")):
            return None
    return None
