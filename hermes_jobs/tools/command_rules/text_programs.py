"""What the programs of `awk` and `sed` do: whether they run programs, or write files elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.tables import words

_AWK_RUNS = re.compile(r"\bsystem\s*\(|\|\s*getline\b|\|&|\|\s*[\"(\w]|@load")
_AWK_READS = re.compile(r"\bgetline\b")
_AWK_PRINTS = re.compile(r"\bprintf?\b")
_AWK_CONSTANT = re.compile(
    r'"(?:[^"\\]|\\.?)*+(?:"|(?P<open>\Z))|(?:^|(?<=[(,{;!&|~\n]))\s*/(?:[^/\\\n]|\\.)*+/', re.DOTALL
)
_AWK_OWN_FILE = re.compile(
    r'>>?\s*+(?:"(?![/~])(?!.{0,300}\.\.)[\w./ -]{1,300}"'
    r'|\(?"(?!\.\.)[\w-][\w./-]{0,100}"\s*\$\w+(?:\s*"[\w.-]{1,20}")?\)?|\s*"/dev/std(?:err|out)")'
)


def awk_programs(invocation: Invocation) -> Iterator[str]:
    """The programs on the command line of an `awk`."""
    if invocation.has("-i", "--include", "-l", "--load"):
        yield "system("  # another program is taken in
    rest = list(invocation.arguments)
    while rest:
        argument = rest.pop(0)
        if argument in ("-v", "-F", "--assign", "--field-separator"):
            del rest[:1]
        elif argument in ("-e", "--source"):
            yield next(iter(rest), "")
        elif argument.startswith(("-f", "--file")):
            return
        elif not argument.startswith("-"):
            yield argument
            return


def awk_acts(program: str) -> bool:
    """Whether it runs a program, or writes outside the folder.

    Comparisons, and `>` or `|` in quotes, do not count.
    """
    program = _AWK_OWN_FILE.sub(" ", program)
    if any(constant["open"] is not None for constant in _AWK_CONSTANT.finditer(program)):
        return True
    plain = _AWK_CONSTANT.sub(lambda constant: '""' if constant.group().startswith('"') else " ", program)
    plain = plain.replace("||", " ")
    if _AWK_RUNS.search(plain) or _follows(_AWK_READS, "|", plain.split("\n")):
        return True
    compared = re.sub(r"\([^()]*\)", "()", plain)  # in parentheses it compares
    return _follows(_AWK_PRINTS, ">", re.split(r"[;}\n]", compared))


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
    position = 0
    while position < len(script):
        if script[position] in " \t\n;{}":
            position += 1
            continue
        match = _SED_ADDRESS.match(script, position)
        position = match.end() if match else position
        command = script[position : position + 1]
        if command in ("/", "\\"):
            return True  # an address without an end
        if command in ("", "}"):
            position += 1
        elif command in ("s", "y"):
            end = _substitution_end(script, position)
            if end is None:
                return True
            flags = _SED_FLAGS.match(script, end)
            assert flags is not None
            if command == "s" and set("ew") & set(flags.group()):
                return True
            position = flags.end()
        elif command in "ewW":
            return True
        elif command in "aicrR:btTqQlL#":
            text = r"(?<!\\)\n|$" if command in "aic" else r"\n|$" if command in "#rR" else r"[;\n}]|$"
            stop = re.compile(text).search(script, position + 1)
            position = stop.end() + (stop.start() == position) if stop else len(script)
        else:
            position += 1
    return False


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
