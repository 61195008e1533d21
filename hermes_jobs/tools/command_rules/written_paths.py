"""Reading the arguments of a program: values of its options, and the files that it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from hermes_jobs.tools.command_rules.text_programs import files_written_by_program
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load

_Finder: TypeAlias = Callable[[Invocation], Sequence[str]]

_IN_PLACE = re.compile(r"-[nrEsuzlapwFX\d]*i|--in-place")  # alone or in a cluster, as in `perl -pi`
_CHANGES = re.compile(r"\b(?:create|insert|update|alter|replace|drop|delete)\b", re.IGNORECASE)
_AWK_PRINTS = re.compile(r"(?:-[dop]|--(?:dump-variables|pretty-print|profile)=)(?P<file>.+)", re.DOTALL)
_COUNTED = re.compile(r"#\d")
_OUTPUT = re.compile(
    r"--(?:out(?:put)?(?:-?(?:dir|file|path|document))?|outDir|target-directory)(?:=(.*))?", re.S
)


def values(invocation: Invocation, short: str = "", *long: str) -> list[str]:
    """The values of options: of short ones by letter, also in a cluster, and of `--long` ones."""
    results: list[str] = []
    arguments = invocation.arguments
    for index, argument in enumerate(arguments):
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if argument.startswith("--"):
            name, equals, value = argument.partition("=")
            if name in long:
                results.append(value if equals else following)
        elif argument.startswith("-") and (letter_index := _letter(argument, short)):
            results.append(argument[letter_index + 1 :] or following)
    return results


def _letter(cluster: str, letters: str) -> int:
    return next((index for index, letter in enumerate(cluster) if index and letter in letters), 0)


def written_paths(invocation: Invocation) -> list[str]:
    """The words with files that the invocation writes or deletes, for known programs."""
    targets = [
        redirect.target
        for redirect in invocation.redirects
        if ">" in redirect.operator and not redirect.target.isdigit() and redirect.target != "-"
    ]
    for find in _finders().get(without_version(invocation.name), ()):
        targets += [word for word in find(invocation) if word]
    return [*targets, *_outputs(invocation.arguments), *_far_outputs(invocation)]


_FOUND = "{}"


def changes_given(invocation: Invocation) -> bool:
    """Whether it writes the files that `find` or `xargs` gives it, whose names stand behind its arguments."""
    if _FOUND in invocation.arguments or any(UNKNOWN in word for word in invocation.arguments):
        return any(
            _FOUND in word or UNKNOWN in word for word in written_paths(replace(invocation, redirects=()))
        )
    return invocation.given and _FOUND in written_paths(
        replace(invocation, arguments=(*invocation.arguments, _FOUND), redirects=())
    )


@cache
def _finders() -> Mapping[str, Sequence[_Finder]]:
    """By program, the functions that find its written files: from `data/writes.toml`."""
    finders: dict[str, list[_Finder]] = {}
    data = load("writes")
    for name, programs in data["writers"].items():
        for program in programs.split():
            finders.setdefault(program, []).append(_FINDERS[name])
    for programs, options in data["written_options"].items():
        for program in programs.split():
            finders.setdefault(program, []).append(_option_values(options.split()))
    for programs, before in data["written_after"].items():
        for program in programs.split():
            finders.setdefault(program, []).append(_words_after(frozenset(before.split())))
    return finders


def _option_values(options: Sequence[str]) -> _Finder:
    short = "".join(option[1:] for option in options if not option.startswith("--"))
    long = [option for option in options if option.startswith("--")]
    return lambda invocation: values(invocation, short, *long)


def _words_after(before: frozenset[str]) -> _Finder:
    return lambda invocation: [word for option, word in pairwise(invocation.arguments) if option in before]


def _outputs(arguments: Sequence[str]) -> Iterator[str]:
    for index, argument in enumerate(arguments):
        if match := _OUTPUT.fullmatch(argument):
            yield match[1] if match[1] is not None else next(iter(arguments[index + 1 :]), "")


def _far_outputs(invocation: Invocation) -> Iterator[str]:
    """The values of `-o` that are whole paths: for nearly all programs that is the file which they write."""
    if without_version(invocation.name) not in load("writes")["tables"]["other_o"].split():
        pairs = pairwise(invocation.arguments)
        yield from (word for option, word in pairs if option == "-o" and word.startswith(("/", "../")))


def _parts(invocation: Invocation) -> Sequence[str]:
    """The prefix of the files of `split`."""
    valued = values(invocation, "blnaCt", "--bytes", "--lines", "--number", "--suffix-length")
    return [operand for operand in invocation.operands if operand not in valued][1:2]


def _copied(invocation: Invocation) -> Sequence[str]:
    into = values(invocation, "t", "--target-directory")
    return into or (invocation.operands[-1:] if len(invocation.operands) > 1 else ())


def _moved(invocation: Invocation) -> Sequence[str]:
    return (*invocation.operands, *_copied(invocation))


def _edited(invocation: Invocation) -> Sequence[str]:
    if not any(_IN_PLACE.match(argument) for argument in invocation.arguments):
        return ()
    scripts = values(invocation, "ef", "--expression", "--file")
    files = [operand for operand in invocation.operands if operand not in scripts]
    return files if scripts else files[1:]


def _packed(invocation: Invocation) -> Sequence[str]:
    """The archive that `tar` makes, or the folder that it unpacks to."""
    first = next(iter(invocation.arguments), "")
    letters = first.lstrip("-") if not first.startswith("--") else ""
    beside = values(invocation, "g", "--index-file", "--listed-incremental", "--volno-file")
    makes = any(letter in letters for letter in "cruA") or invocation.has("--create", "--append", "--update")
    if makes:
        old_style = [] if first.startswith("-") or "f" not in letters else list(invocation.arguments[1:2])
        return [*old_style, *beside, *values(invocation, "f", "--file")]
    if "P" in letters or invocation.has("-P", "--absolute-names"):
        return ["/"]
    return [*beside, *values(invocation, "C", "--directory", "--one-top-level")]


def _downloaded(invocation: Invocation) -> Sequence[str]:
    """The files that `curl -O` and `wget` name by the address; either may go through a link that is there."""
    if invocation.name == "wget" and invocation.has("-O", "--output-document", "--spider"):
        return ()
    if invocation.name == "curl" and any(map(_COUNTED.search, values(invocation, "o", "--output"))):
        return ["/"]  # it puts parts of the address into a name
    if invocation.name == "curl" and not invocation.has("-O", "-J", "--remote-name", "--remote-name-all"):
        return ()
    folder = next(iter(values(invocation, "P", "--directory-prefix", "--output-dir")), "")
    addresses = (word for word in invocation.operands if re.search(r"[/.:]", word))
    names = (re.sub(r"^\w+://|#.*", "", word).partition("/")[2].rpartition("/")[2] for word in addresses)
    return [f"{folder}/{name or 'index.html'}" if folder else name or "index.html" for name in names]


def _printed(invocation: Invocation) -> Sequence[str]:
    """The files to which an `awk` prints: those in its programs, its program, its profile, its variables."""
    matches = map(_AWK_PRINTS.fullmatch, invocation.arguments)
    return [*files_written_by_program(invocation), *(match["file"] for match in matches if match)]


def _compressed(invocation: Invocation) -> Sequence[str]:
    return () if invocation.has("-c", "-t", "-l", "--stdout", "--test", "--list") else invocation.operands


def _key_files(invocation: Invocation) -> Sequence[str]:
    """The file of a key that `ssh-keygen` makes or changes."""
    return () if invocation.has("-l", "-y", "-e", "-i", "-L", "-F", "-B", "-Q") else values(invocation, "f")


def _project(invocation: Invocation) -> Sequence[str]:
    """The folder that a new project is made in."""
    makes = invocation.operands[:1] in (("new",), ("init",), ("startproject",), ("create",))
    return invocation.operands[1:] if makes else ()


def _modules(invocation: Invocation) -> Sequence[str]:
    """Files written by Python modules: the folder of an environment, an archive, or an unpacked one."""
    arguments = invocation.arguments
    index = next((i for i, argument in enumerate(arguments) if argument == "-m"), len(arguments))
    module, rest = next(iter(arguments[index + 1 :]), ""), arguments[index + 2 :]
    operands = [word for word in rest if not word.startswith("-")]
    if module in ("venv", "virtualenv"):
        return operands
    if module not in ("zipfile", "tarfile", "zipapp"):
        return ()
    return operands[1:] if {"-e", "--extract"}.intersection(rest) else operands[:1]


def _database(invocation: Invocation) -> Sequence[str]:
    """The file of a database to which a statement writes."""
    statements = " ".join((*invocation.operands[1:], invocation.input, invocation.echoed))
    return invocation.operands[:1] if _CHANGES.search(statements) else ()


def _installed(invocation: Invocation) -> Sequence[str]:
    """The folder that `make install` and the like name to install below."""
    if not any(argument.lstrip("-").startswith("install") for argument in invocation.arguments):
        return ()
    assignments = [argument.partition("=") for argument in invocation.arguments if "=" in argument]
    folders = [
        value for name, _, value in assignments if name in ("DESTDIR", "PREFIX", "prefix", "--destdir")
    ]
    return [*folders, *values(invocation, "", "--prefix")]


_FINDERS: Mapping[str, _Finder] = {
    "operands": lambda invocation: invocation.operands,
    "later_operands": lambda invocation: invocation.operands[1:],
    "first_operand": lambda invocation: invocation.operands[:1],
    "second_operand": lambda invocation: invocation.operands[1:2],
    "last_operand": lambda invocation: invocation.operands[-1:],
    "copied": _copied,
    "moved": _moved,
    "edited": _edited,
    "compressed": _compressed,
    "printed": _printed,
    "downloaded": _downloaded,
    "packed": _packed,
    "modules": _modules,
    "key_files": _key_files,
    "project": _project,
    "database": _database,
    "installed": _installed,
    "split_parts": _parts,
    "ghostscript": lambda invocation: [
        *(word.partition("=")[2] for word in invocation.arguments if word.startswith("-sOutputFile=")),
        *values(invocation, "o"),
    ],
    "converted": lambda invocation: [
        argument[3:] for argument in invocation.arguments if argument.startswith("of=")
    ],
}
"""By the names in `data/writes.toml`."""
