"""What the programs of `awk` and `sed` do: whether they run programs, or write files elsewhere."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import NUMBER, UNKNOWN
from hermes_jobs.tools.tables import words

_AWK_RUNS = re.compile(r"\bsystem\s*\(|\|\s*getline\b|\|&|\|\s*[\"(\w]|@")
_AWK_READS = re.compile(r"\bgetline\b")
_AWK_PRINTS = re.compile(r"\bprintf?\b")
_AWK_PART = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*+(?P<end>"?))|(?P<comment>#[^\n]*)|(?P<blank>[ \t\r]+)|\w+|.', re.DOTALL
)
_AWK_REGEX = re.compile(
    r"/(?:[^/\\\n\[]{1,500}+|\\.|\[\^?\]?(?:[^\]\\\n]|\\.){0,200}+\]){0,60}+/"  # the limits keep it quick
)
_AWK_STATEMENTS = frozenset(("print", "printf", "return", "in", "case", "else", "do", "exit", "getline"))
_AWK_OWN_FILE = re.compile(
    r'>>?\s*+(?:"(?![/~])(?!.{0,300}\.\.)[\w./ -]{1,300}"'
    r'|\(?"(?!\.\.)[\w-][\w./-]{0,100}"\s*\$\w+(?:\s*"[\w.-]{1,20}")?\)?|\s*"/dev/std(?:err|out)")'
)
_AWK_LITERAL_READ = re.compile(
    r'\bgetline\b[\w\s\[\]$]{0,60}<\s*"(?P<file>[^"\\\n]{0,300})"(?=\s*(?:[);}&|>\n]|$))'
)
_AWK_COMPUTED = re.compile(r'\bgetline\b[^;|\n]{0,60}<|\bARGV\b|>\s*\(?\s*""\s*\$')


def awk_programs(invocation: Invocation) -> Iterator[str]:
    """The programs on the command line of an `awk`."""
    if invocation.has("-i", "--include", "-l", "--load"):
        yield "system("  # another program is taken in
    rest = list(invocation.arguments)
    has_program = False
    while rest:
        argument = rest.pop(0)
        if argument in ("-v", "-F", "--assign", "--field-separator"):
            del rest[:1]
        elif match := _AWK_SOURCE.fullmatch(argument):
            has_program = True
            yield match["joined"] or (rest.pop(0) if rest else "")
        elif argument.startswith(("-f", "--file")):
            return
        elif not argument.startswith("-"):
            yield from () if has_program else (argument,)
            return


_AWK_SOURCE = re.compile(r"(?:-e|--source=?)(?P<joined>.*)", re.DOTALL)


def awk_acts(program: str) -> bool:
    """Whether it runs a program, or writes outside the folder.

    Comparisons, and `>` or `|` in quotes, do not count.
    """
    plain = _without_constants(_AWK_OWN_FILE.sub(" ", program))
    if plain is None:
        return True
    plain = plain.replace("||", " ")
    if _AWK_RUNS.search(plain) or _follows(_AWK_READS, "|", plain.split("\n")):
        return True
    compared = re.sub(r"\([^()]*\)", "()", plain)  # in parentheses it compares
    return _follows(_AWK_PRINTS, ">", re.split(r"[;}\n]", compared))


def _without_constants(program: str) -> str | None:
    """The program with each text as `""`, without its regular expressions and comments; None where it cannot
    be told what is one."""
    program = program.replace("\\\n", " ")
    if program.count("/") > _MOST_SLASHES:
        return None
    pieces: list[str] = []
    position, before = 0, ""
    while position < len(program):
        if program[position] == "/" and before == ")":
            line = program[position + 1 :].partition("\n")[0]
            if "/" in line and ('"' in line or "#" in line):
                return None  # it divides, or a regular expression begins
        elif program[position] == "/" and not _ends_value(before):
            regex = _AWK_REGEX.match(program, position)
            text = regex.group() if regex else '"'
            if not regex or (re.search(r"\[[^\]]*/", text[1:-1]) and not set('"#@;{}').isdisjoint(text)):
                return None
            pieces.append(" ")
            position, before = regex.end(), '"'
            continue
        part = _AWK_PART.match(program, position)
        assert part is not None
        if part["string"] and not part["end"]:
            return None
        pieces.append('""' if part["string"] else " " if part["comment"] else part.group())
        position = part.end()
        if not (part["blank"] or part["comment"]):
            before = part.group()[-1:] if part["string"] else part.group()
    return "".join(pieces)


_MOST_SLASHES = 1_000


def _ends_value(before: str) -> bool:
    """Whether a slash behind this divides."""
    is_name = before.isidentifier() and before not in _AWK_STATEMENTS
    return is_name or before[:1].isdigit() or before in ("]", '"', "$")


def names_computed_files(invocation: Invocation) -> bool:
    """Whether an `awk` reads or writes files whose names it computes."""
    if invocation.name not in words("interpreters", "awks"):
        return False
    programs = (_AWK_LITERAL_READ.sub(" ", program) for program in awk_programs(invocation))
    return any(_AWK_COMPUTED.search(_without_constants(program) or "") for program in programs)


def is_partly_unknown(invocation: Invocation) -> bool:
    """Whether a part of the program of an `awk` or a `sed` is known only when it runs."""
    if invocation.name in words("interpreters", "awks"):
        programs = awk_programs(invocation)
    elif invocation.name in words("interpreters", "seds"):
        programs = sed_scripts(invocation)
    else:
        return False
    return any(UNKNOWN in program.replace(NUMBER, "") for program in programs)


def files_in_program(invocation: Invocation) -> Iterator[str]:
    """The files that the programs of an `awk` or a `sed` read by their names."""
    if invocation.name in words("interpreters", "awks"):
        for program in awk_programs(invocation):
            yield from (match["file"] for match in _AWK_LITERAL_READ.finditer(program))
    elif invocation.name in words("interpreters", "seds"):
        for script in sed_scripts(invocation):
            yield from (text.strip() for name, text in sed_commands(script) or () if name in ("r", "R"))


def files_written_by_program(invocation: Invocation) -> Iterator[str]:
    """The files to which the programs of an `awk` print; of a computed name its folder, with any file."""
    for program in awk_programs(invocation):
        for match in _AWK_LITERAL_WRITE.finditer(program) if _AWK_PRINTS.search(program) else ():
            yield os.path.join(os.path.dirname(match["file"]), "x") if match["computed"] else match["file"]


_AWK_LITERAL_WRITE = re.compile(r'>>?\s*+\(?\s*+"(?P<file>[^"\\\n]{1,300})"(?P<computed>\s*+[$\w("])?')


def reads_named_files(invocation: Invocation) -> bool:
    """Whether an `awk` reads the files that its input names."""
    if invocation.name not in words("interpreters", "awks"):
        return False
    return any(_AWK_READS_FIELD.search(program) for program in awk_programs(invocation))


_AWK_READS_FIELD = re.compile(r"\bgetline\b[^;\n]{0,40}<\s*\$")


def _follows(word: re.Pattern[str], mark: str, parts: Sequence[str]) -> bool:
    """Whether in one of the parts the mark stands behind the word."""
    return any((found := word.search(part)) and mark in part[found.end() :] for part in parts)


def sed_scripts(invocation: Invocation) -> Iterator[str]:
    """The scripts on the command line of a `sed`."""
    scripts = []
    arguments = invocation.arguments
    for index, argument in enumerate(arguments):
        if argument in ("-e", "--expression"):
            scripts.append(next(iter(arguments[index + 1 :]), ""))
        elif argument.startswith("--expression="):
            scripts.append(argument.partition("=")[2])
        elif re.fullmatch(r"-[nrEsuz]+e", argument):
            scripts.append(next(iter(arguments[index + 1 :]), ""))
    if not scripts and not invocation.has("-f", "--file"):
        scripts = list(invocation.operands[:1])
    yield from scripts


_SED_FLAGS = re.compile(r"[gpiImMe0-9w]*")
_SED_ADDRESS = re.compile(
    r"\s*(?:(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*|\\(?P<d>[^\n])(?:(?!(?P=d))[^\\\n]|\\.)*(?P=d)[IM]*)"
    r"(?:\s*,\s*(?:[+~]?\d+|\$|/(?:[^/\\\n]|\\.)*/[IM]*))?)?\s*!?\s*"
)


def sed_acts(script: str) -> bool:
    """Whether the script writes a file or runs a command (`w`, `e`, or those flags of `s`), or cannot be
    parsed."""
    commands = sed_commands(script)
    return commands is None or any(
        name in ("e", "w", "W") or (name == "s" and not set("ew").isdisjoint(text)) for name, text in commands
    )


def sed_commands(script: str) -> list[tuple[str, str]] | None:
    """The commands of a script, each with what follows it: a text, a file or flags; None where it cannot be
    parsed."""
    commands: list[tuple[str, str]] = []
    position = 0
    while position < len(script):
        if script[position] in " \t\n;{}":
            position += 1
            continue
        match = _SED_ADDRESS.match(script, position)
        position = match.end() if match else position
        command = script[position : position + 1]
        if command in ("/", "\\"):
            return None  # an address without an end
        text = ""
        if command in ("s", "y") and command:
            end = _substitution_end(script, position)
            if end is None:
                return None
            flags = _SED_FLAGS.match(script, end)
            assert flags is not None
            text, position = flags.group(), flags.end()
        elif command and command in "aicrRwW:btTqQlL#":
            ends = r"(?<!\\)\n|$" if command in "aic" else r"\n|$" if command in "#rRwW" else r"[;\n}]|$"
            stop = re.compile(ends).search(script, position + 1)
            end = stop.start() if stop else len(script)
            text = script[position + 1 : end]
            position = stop.end() + (stop.start() == position) if stop else end
        else:
            position += 1
        commands.append((command, text))
    return commands


def _substitution_end(script: str, position: int) -> int | None:
    """The position behind the third delimiter of `s` or `y`; None where it has none."""
    delimiter = script[position + 1 : position + 2]
    if delimiter in ("", "\n", "\\"):
        return None
    num_seen, index = 0, position + 2
    while index < len(script):
        char = script[index]
        if char == "\\":
            index += 1
        elif char == delimiter:
            num_seen += 1
            if num_seen == 2:
                return index + 1
        index += 1
    return None
