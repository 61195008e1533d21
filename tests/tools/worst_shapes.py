"""Generated texts that are as hard to judge as a model could write them: commands of 100 kB.

Pieces of the shell's grammar, and of the programs, options and expressions of the rules, are repeated,
nested, doubled and interleaved. The same number makes the same shape.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

from hermes_jobs.tools.command_rules.rules import FILES, rule_set
from hermes_jobs.tools.tables import load
from hermes_jobs.tools.wrappers import wrappers

SIZE = 100_000

_SYNTAX = (
    "'", '"', "`", "$(", "${", "$((", "((", "(", ")", "}", "))", "{", "{a,", "{a,b}", "{a,b", ",", "<<a\n",
    "<<<", "<(", ">", "2>&1 ", "|", ";", "&", "\n", "\\", "\\\n", " ", "a", "a ", "$x", '"$x"', "$x$x",
    "${x}", "${x:-", "${x/a/", "${a[", "]", "x=", "x=1 ", "a=(", "#", "#a\n", "~", "~/", "*", "?", "[",
    "[[ ", " -eq ", " ]]", "!", "if ", "then ", "fi;", "do ", "done;", "for i in ", "case x in ", "esac",
    "f() { ", "function f { ", "$'", "\\x41", "$@", "set -- ", "eval ", "eval '", "trap '", "alias a='",
    "export x=", "a/", "../", "/", ":", "=", "@", "-", "--", "--a=", "://", ".", "%", "é",
    "\N{REPLACEMENT CHARACTER}", "0", "1;", "x=$x$x;", "x=$x$y y=$y$x;", 'export a="$a $a";',
    "x=$(echo $x$x);", "x=`echo $x$x`;", "for x in $x $x; do ", "set -- $* $*;", "cat <<E\n$x$x\nE\n",
    "cd a;", "cd ..;", "coproc ", "time ", "a|", "a&&", "read x;", "((x));", "$((x+", "-e ", "-c ", "-c '",
    "printf -v x ", "echo $x|", "echo a|sh;", "{} ", "-I a ",
)  # fmt: skip
_WORD = re.compile(r"[A-Za-z_][\w-]{2,}")
_PUNCTUATION = "()[]{}<>|&;:,.=+-*/%\"'`\\@#$ \n"


PATTERNS = tuple(
    program + piece * ((SIZE - 10) // len(piece))
    for program in ("cat ", "cat */", "cp a ")
    for piece in ("[", "{", "(", "!", "*", "[!", "[]", "[a]", "*[", "*a", "?*", "/[", "[" * 4_000 + " *")
)
"""Patterns that are compared with the names of files."""


def shape(number: int, size: int = SIZE) -> str:
    """One shape: a text of `size` characters."""
    choose = random.Random(number)
    pieces = [_piece(choose) for _ in range(choose.choice((1, 1, 2, 2, 3, 4, 6)))]
    repeated = "".join(pieces)
    match choose.randrange(6):
        case 0:
            text = repeated * (size // len(repeated) + 1)
        case 1:
            text = _program(choose) + repeated * (size // len(repeated) + 1)
        case 2:
            text = _program(choose) + choose.choice("'\"") + repeated * (size // len(repeated) + 1)
        case 3:
            closing = "".join(reversed([_CLOSING.get(piece, "") for piece in pieces])) or ")"
            times = size // (len(repeated) + len(closing)) + 1
            text = repeated * times + closing * times
        case 4:
            times = choose.choice((10, 20, 30, 100))
            text = f"x={'a' * (size // 2)};" + repeated * times + "; echo $x"
        case _:
            choices = [*pieces, _piece(choose), _program(choose)]
            text = "".join(choose.choice(choices) for _ in range(size // min(map(len, choices)) + 1))
    return _ended(text[:size], choose)


_CLOSING = {
    "$(": ")", "${": "}", "$((": "))", "((": "))", "(": ")", "{": "}", "'": "'", '"': '"', "`": "`",
    "<(": ")", "[[ ": " ]]", "${x:-": "}", "${a[": "]}", "if ": "fi;", "do ": "done;", "{a,": "}",
}  # fmt: skip


def _ended(text: str, choose: random.Random) -> str:
    """The text with its last quote closed, often: one that is not closed is refused at once."""
    for quote in "'\"":
        if text.count(quote) % 2 and choose.random() < 0.9:
            text = text[:-1] + quote
    return text


def _piece(choose: random.Random) -> str:
    kind = choose.random()
    if kind < 0.6:
        return choose.choice(_SYNTAX)
    if kind < 0.7:
        return _program(choose)
    if kind < 0.85:
        return choose.choice(_rule_words()) + choose.choice((" ", "", choose.choice(_PUNCTUATION)))
    return choose.choice(_PUNCTUATION)


def _program(choose: random.Random) -> str:
    name = choose.choice(_programs())
    return f"{name} {choose.choice(('', '', '-c ', '-e ', '-r ', choose.choice(_rule_words()) + ' '))}"


@cache
def _programs() -> tuple[str, ...]:
    rules = [rule for decision in ("ask", "deny") for rule in rule_set(decision).rules]
    named = {name.rstrip("*").replace("git-", "git ") for rule in rules for name in rule.programs.split()}
    tables = {
        word for file in FILES for table in load(file).get("tables", {}).values() for word in table.split()
    }
    return tuple(sorted({*named, *wrappers(), *tables, "echo", "cat"} - {""}))


@cache
def _rule_words() -> tuple[str, ...]:
    return tuple(sorted({word for file in FILES for word in _texts(load(file))}))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from _WORD.findall(value)
        yield from (word for word in value.split() if word.startswith("-"))
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
