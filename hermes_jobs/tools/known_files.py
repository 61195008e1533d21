"""Whether the files that a command reads are known by name: only then are they judged by their real paths.

A pattern, a value of the shell, a folder that is read as a whole, or a name that the same line may make lead
to any file, by a link too.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH114, PTH118, PTH119

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hermes_jobs.tools.command_rules.git import split_verb
from hermes_jobs.tools.credential_line import Line
from hermes_jobs.tools.glob_matches import GLOB, TooManyEntries, entries_below
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.listed_names import takes_names
from hermes_jobs.tools.process_paths import differs_by_process
from hermes_jobs.tools.sensitive_paths import SECRETS
from hermes_jobs.tools.shell_words import NUMBER, SUBSTITUTED, UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words

MAY_CHANGE = "reads a file that the line may change"
MOST_WORDS = 100
"""The most words of a program that are looked at beside keys."""


def unknown_file(invocation: Invocation, line: Line, *, uses: bool) -> str:
    """Why a part of a line may read a file that is not known by name; empty if it does not.

    `uses`: it is one of the programs that need keys, whose own words are judged with its options.
    Raises `Unparsable`."""
    shown = f"`{invocation.name}`"
    if len(invocation.arguments) > MOST_WORDS:
        return f"{shown} has more than {MOST_WORDS} words"
    targets = [one.target for one in invocation.redirects if "<" in one.operator]
    if invocation.given or any(_is_open(word, line) for word in targets if not re.fullmatch(r"\d|-", word)):
        return f"{shown} reads a file that is not known by name"
    if targets and _changes_files(invocation, line):
        return f"{shown} {MAY_CHANGE}"
    if uses or invocation.name == "git":
        return _of_program(invocation, line)
    if invocation.name in words("credentials", "runners") | words("credentials", "no_readers"):
        return ""
    named = list(_read_words(invocation, line))
    is_open = any(_is_open(word, line) for word in named)
    if is_open or takes_names(invocation) or _reads_folder(invocation, named):
        return f"{shown} reads files that are not known by name"
    if _changes_files(invocation, line) and any(word not in ("-", "") for word in named):
        return f"{shown} {MAY_CHANGE}"
    return ""


def _read_words(invocation: Invocation, line: Line) -> Iterator[str]:
    """The words that may name files: no options, and no expression that is looked for."""
    expects = invocation.name in words("credentials", "expression_first")
    valued = re.compile(load("credentials")["valued_options"].get(invocation.name, "(?!)"))
    for before, word in pairwise(("", *invocation.arguments)):
        if valued.fullmatch(before) and re.fullmatch(r"[\d,.:-]+|\W|\\t", word):
            continue
        if word.startswith("-") and word != "-":
            if "=" in word or len(word) > 2 or GLOB.search(word) or UNKNOWN in word:
                yield re.sub(r"^--?\w[\w-]*=|^-\w", "", word)
            yield from _values_in(word)
        elif expects:
            expects = False
            if UNKNOWN in word or (
                GLOB.search(word) and (_changes_files(invocation, line) or _stands_for(word, line))
            ):
                yield word  # without quotes it would be several words
        else:
            yield word


def _values_in(option: str) -> Iterator[str]:
    """What may be the value of the last of several short options: of `-ufx` that is `fx` or `x`."""
    cluster = _CLUSTER.match(option)
    for start in range(2, min(cluster.end(), MOST_WORDS) + 1) if cluster else ():
        if option[start:]:
            yield option[start:]


_CLUSTER = re.compile(r"-[A-Za-z]{2,}", re.ASCII)


def _stands_for(word: str, line: Line) -> bool:
    """Whether a pattern stands for files, or for more than can be looked at."""
    return any(line.files.matching(os.path.join(folder, word)) != [] for folder in line.folders)


def _reads_folder(invocation: Invocation, named: Sequence[str]) -> bool:
    """Whether it looks through the folder without being told to."""
    if invocation.name in ("rg", "ag"):
        return not (invocation.piped or named)
    return invocation.name in ("grep", "egrep", "fgrep", "diff") and any(
        re.fullmatch(r"-\w*[rRd].*|--(?:r|de|dir).*", word) for word in invocation.arguments
    )


def _is_open(word: str, line: Line) -> bool:
    """Whether a word may stand for any file: it is not known, names a folder, or leads to a key."""
    if NUMBER in word and any(
        _leads_to_key(path, line)
        for folder in line.folders
        for path in line.files.matching(os.path.join(folder, word.replace(NUMBER, "*"))) or ()
    ):
        return True
    word = word.replace(NUMBER, "1").replace(SUBSTITUTED, "-")
    if UNKNOWN in word or GLOB.search(word) or word.startswith("~"):
        return True
    return any(_is_folder_or_key(os.path.join(folder, word), line) for folder in line.folders if word)


def _is_folder_or_key(path: str, line: Line) -> bool:
    line.budget.path()
    return os.path.isdir(path) or _is_key(path, line)


def _is_key(path: str, line: Line) -> bool:
    """Whether it is protected, or is another file for each process."""
    real = os.path.realpath(path)
    return line.paths.kind(real) in SECRETS or line.paths.is_private(real) or differs_by_process(path)


def _leads_from_folder(word: str, line: Line) -> bool:
    """Whether a word, or what may be an option's value in it, is a way from the folder to a key."""
    for value in dict.fromkeys((word, word.rpartition("=")[2], word.rpartition("@")[2], *_values_in(word))):
        for path in (os.path.join(folder, value) for folder in line.folders if value):
            line.budget.path()
            plain = os.path.normpath(path)
            if os.path.lexists(path) and line.paths.kind(plain) not in SECRETS and _is_key(path, line):
                return True
    return False


def _of_program(invocation: Invocation, line: Line) -> str:
    """The same for git and programs with keys: by what patterns stand for, and options that name files."""
    shown = f"`{invocation.name}`"
    for word in filter(GLOB.search, invocation.arguments):
        for folder in line.folders:
            for path in line.files.matching(os.path.join(folder, word)) or ():
                if path[len(folder) :].startswith("/-") or _leads_to_key(path, line):
                    return f"a pattern of {shown} stands for {os.path.basename(path)}"
    if any(_leads_from_folder(word, line) for word in invocation.arguments if UNKNOWN not in word):
        return f"{shown} names a link to a key"
    arguments = invocation.arguments
    if invocation.name == "git":
        verb = split_verb(invocation)[0]
        arguments = verb.arguments if _names_files(verb) else ()
        if any(_is_open(word.rpartition("=")[2], line) for word in arguments if word != "."):
            return f"{shown} reads files that are not known by name"
        names = bool(arguments) and "-" not in arguments
    else:
        names = any(map(pattern("credentials", "named_file").fullmatch, arguments))
    return f"{shown} {MAY_CHANGE}" if names and _changes_files(invocation, line) else ""


def _leads_to_key(path: str, line: Line) -> bool:
    leads = line.paths.kind(os.path.realpath(path)) in SECRETS or differs_by_process(path)
    return leads and os.path.islink(path)


def _names_files(verb: Invocation) -> bool:
    """Whether git reads a file as text, or as a list of names, that its options name."""
    options = pattern("credentials", "git_file_options")
    return verb.name == "am" or any(map(options.fullmatch, verb.arguments))


def _changes_files(invocation: Invocation, line: Line) -> bool:
    """Whether the rest of the line may make links: by what git checks out, or a program that fetches."""
    return any(_may_link(other) for other in line.invocations if other is not invocation)


def writes_what_may_change(invocation: Invocation, line: Line) -> bool:
    """Whether its output goes to a file in whose place the line may put a link."""
    targets = (one.target for one in invocation.redirects if ">" in one.operator)
    writes = any(not (target.isdigit() or target in ("-", "/dev/null")) for target in targets)
    return writes and _changes_files(invocation, line)


def _holds_link(path: str | None) -> bool:
    """Whether what is copied or moved is a link, or may hold one."""
    if path is None or os.path.islink(path):
        return True
    try:
        return os.path.isdir(path) and any(entry.is_symlink() for entry in entries_below(path))
    except TooManyEntries:
        return True


def _may_link(invocation: Invocation) -> bool:
    if invocation.name in ("cp", "mv"):
        return any(map(_holds_link, (invocation.path(word) for word in invocation.operands)))
    if invocation.name in words("credentials", "unpackers"):
        first = next(iter(invocation.arguments), "").lstrip("-")
        return "tar" not in invocation.name or "x" in first or invocation.has("-x", "--extract", "--get")
    if invocation.name != "git":
        verbs = load("credentials")["bring_files"].get(invocation.name, "")
        return not set(verbs.split()).isdisjoint(invocation.operands[:3])
    verb = split_verb(invocation)[0]
    if verb.name in ("checkout", "switch") and verb.arguments[:1] in (("-b",), ("-c",)):
        return len(verb.arguments) != 2
    return verb.name not in words("credentials", "keep_files")
