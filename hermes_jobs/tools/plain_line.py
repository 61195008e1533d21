"""Which lines are plain: written in the part of the shell's language that can be read in one way only.

`shell_parser` reads all of it, as far as that is possible without the shell. Where one mistake would show a
key, only plain lines count: what is not listed here is not plain, whatever a shell does with it. Sources:
POSIX, Shell Command Language, section 2; bash's manual, section 3.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hermes_jobs.tools.invocations import Invocation

MAX_DEPTH = 10
MAX_DOCUMENTS = 10  # of a line


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII | re.VERBOSE)


_BLANK = _pattern(r"(?: [\ \t] | (?<=[\ \t\n])\\\n | \A\\\n )+")
_COMMENT = _pattern(r"(?:(?<=[\ \t\n;&|(])|\A) \# [^\n]*")
_OPERATOR = _pattern(r"&&|\|\||\|&|[;|&()\n]")
_NO_OPERATOR = ("((", ";;", ";&")
_REDIRECT = _pattern(r"[0-9]*(?:>>|>\||>&|<&|<>|>|<(?!<))(?!\() | &>>? | [0-9]*<<<")
_DOCUMENT = _pattern(r"<<[\ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z_]\w*)(?P=quote)(?=[\ \t\n;|&)>])")
_BARE = _pattern(r"[A-Za-z0-9_./,:=@%+^*?\]!~\#-]+ | \[(?!\[) | \{[A-Za-z0-9_./,:@%+*?-]*\}")
_BRACE = _pattern(r"[{}](?=[\ \t\n;]|\Z)")
_QUOTED = _pattern(r"'[^']*' | \\[!-~\ ] | \$'(?:[^'\\]|\\[ntr\\])*'")
_IN_QUOTES = _pattern(r"[^\"\\$`]+ | \\[^\n]")
_VALUE = _pattern(
    r"""\$(?:[A-Za-z_]\w*+|[0-9@*\#?$!])(?!\\\n)
    | \$\{(?:\#?[A-Za-z_]\w*|[0-9@*\#?])\}
    | \$\{[A-Za-z_]\w*(?:(?:%%?|\#\#?)[\w.*?/-]+|:?[-+][\w./:-]*|:[0-9]+(?::[0-9]+)?)\}
    | \$\(\([a-z0-9_\ \t+*/%-]*\)\)
    | \$(?=[\ \t\n.,;:/|)"]|\Z)"""
)
_OWN = r"(?:SECONDS|\w*RANDOM|HISTCMD|OPTIND|LINENO|EPOCH\w+|IFS|\w*OPTS|BASH\w*|HOME|\w*PWD|(?:CD)?PATH|ENV)"
_FOR = _pattern(rf"for[\ \t]+(?!{_OWN}[\ \t])[A-Za-z_]\w*[\ \t]+in(?=[\ \t])")
_NUMBERS = _pattern(r"\(\([a-z0-9_\ \t+*/%=<>!-]*\)\)(?=[\ \t\n;&|)]|\Z)")
_ASSIGNS = _pattern(r"[A-Za-z_]\w*\+?=")
_EVALUATED = _pattern(rf"\w+\[ | {_OWN}\+?=")
"""What the shell evaluates as it assigns it, or by which it reads the rest in another way."""
_NOT_PLAIN = frozenset(("case", "select", "function", "coproc", "time", "[[", "for"))
_OPENS = frozenset(("if", "while", "until", "do", "{"))
_GOES_ON = frozenset(("then", "else", "elif", "!"))
_CLOSES = frozenset(("fi", "done", "}"))
_CD = _pattern(r"cd[\ \t]+(?:[\w./@+:%~][\w./@+:%-]*|'[^'-][^']*'|\"[^\"$`\\-][^\"$`\\]*\")")
_CONDITIONAL = frozenset(("&&", "|"))


class _NotPlain(Exception):
    """What is not plain."""


@dataclass(frozen=True)
class _Command:
    """A command of a list, and the operator behind it. `is_part`: of a group, a loop or a branch."""

    text: str
    after: str
    is_part: bool


@dataclass
class _Scanner:
    """A position in a text. `lists`: the commands of the line, then of each part in parentheses."""

    text: str
    at: int = 0
    lists: list[list[_Command]] = field(default_factory=list)
    _open: int = 0

    def read(self, depth: int = 0) -> None:
        """Read commands to the end, or behind the parenthesis that closes them."""
        if depth > MAX_DEPTH:
            raise _NotPlain("so many parentheses")
        text = self.text
        commands: list[_Command] = []
        self.lists.append(commands)
        documents: list[re.Match[str]] = []
        begins, start = 2, self.at
        while self.at < len(text):
            if blank := _BLANK.match(text, self.at) or (
                _COMMENT.match(text, self.at) if depth == 0 else None
            ):
                self.at = blank.end()
            elif behind := _REDIRECT.match(text, self.at) or (
                _NUMBERS.match(text, self.at) if begins == 2 else None
            ):
                self.at, begins = behind.end(), 0
            elif document := _DOCUMENT.match(text, self.at):
                documents.append(document)
                self.at, begins = document.end(), 0
            elif operator := _OPERATOR.match(text, self.at):
                sign = self._operator(operator, begins)
                if sign == "(":
                    self.read(depth + 1)
                    begins = 0
                    continue
                commands.append(_Command(text[start : operator.start()].strip(" \t"), sign, self._open > 0))
                if sign == ")":
                    if documents or not depth:
                        raise _NotPlain("`)`")
                    return
                if sign == "\n":
                    self._documents(documents, depth)
                begins, start = 2, self.at
            else:
                begins = self._word(depth, begins)
        if documents or depth:
            raise _NotPlain("a part without an end")
        commands.append(_Command(text[start:].strip(" \t"), "", self._open > 0))

    def _operator(self, match: re.Match[str], begins: int) -> str:
        if self.text.startswith(_NO_OPERATOR, self.at) or (match.group() == "(" and begins < 2):
            raise _NotPlain(f"`{self.text[self.at : self.at + 2].strip()}`")
        self.at = match.end()
        return match.group()

    def _word(self, depth: int, begins: int) -> int:
        """Read a word. `begins`: 2 where a reserved word may stand, 1 for a program, 0 for arguments.

        Returns the same for the next word."""
        text, start = self.text, self.at
        if begins and (loop := _FOR.match(text, start)):
            self.at = loop.end()
            return 0
        if text[start] == "#":
            raise _NotPlain("`#`")
        if brace := _BRACE.match(text, start):
            self.at = brace.end()
        while self.at < len(text) and (
            text[self.at] not in " \t\n;&|()<>" or text.startswith(("<(", ">("), self.at)
        ):
            if bare := _BARE.match(text, self.at) or _QUOTED.match(text, self.at):
                self.at = bare.end()
            elif text[self.at] == '"':
                self._double_quoted(depth)
            elif text[self.at] in "<>":
                self.at += 2
                self.read(depth + 1)
            else:
                self._substitution(depth)
        word = text[start : self.at]
        if not word or (begins and (word in _NOT_PLAIN or _EVALUATED.match(word))):
            raise _NotPlain(f"`{word or text[start : start + 2]}`")
        if begins and _ASSIGNS.match(word):
            if text.startswith("(", self.at):
                raise _NotPlain("a list as a value")
            return 1
        if begins < 2:
            return 0
        self._open += (word in _OPENS) - (word in _CLOSES)
        return 2 if word in _OPENS or word in _GOES_ON or word in _CLOSES else 0

    def _double_quoted(self, depth: int) -> None:
        self.at += 1
        while not self.text.startswith('"', self.at):
            if literal := _IN_QUOTES.match(self.text, self.at):
                self.at = literal.end()
            else:
                self._substitution(depth)
        self.at += 1

    def _substitution(self, depth: int) -> None:
        if match := _VALUE.match(self.text, self.at):
            self.at = match.end()
        elif self.text.startswith("$(", self.at) and not self.text.startswith("$((", self.at):
            self.at += 2
            self.read(depth + 1)
        else:
            raise _NotPlain(f"`{self.text[self.at : self.at + 2].strip()}`")

    def _documents(self, documents: list[re.Match[str]], depth: int) -> None:
        """Read the here-documents that begin with the line that has ended here."""
        if len(documents) > MAX_DOCUMENTS:
            raise _NotPlain("so many here-documents")
        if documents and "\n" in self.text[documents[0].end() : self.at - 1]:
            raise _NotPlain("a here-document in a line that goes on")
        for match in documents:
            start = self.at
            while (line := self._line()) != match["end"]:
                if self.at >= len(self.text) or (depth and line.lstrip("\t").startswith(match["end"])):
                    raise _NotPlain("a here-document without an end")
            if not match["quote"]:
                self._substituted(self.text[start : self.at], depth)
        documents.clear()

    def _line(self) -> str:
        start, end = self.at, self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1
        return self.text[start : self.at].removesuffix("\n")

    def _substituted(self, body: str, depth: int) -> None:
        """Check a here-document in which values are put in."""
        if "\\" in body or "`" in body:
            raise _NotPlain("a here-document with escapes")
        inner = _Scanner(body)
        while (found := body.find("$", inner.at)) >= 0:
            inner.at = found
            inner._substitution(depth)
        self.lists += inner.lists


def unusual(text: str) -> str:
    """What in a line is not plain; empty if all is."""
    return _scanned(text)[1]


def may_stay(text: str, invocations: Sequence[Invocation]) -> bool:
    """Whether a line may go on in a folder which it was to leave: where it is not certain that `cd` happens.

    It is certain for a folder that is there as the line begins, and where nothing runs behind it otherwise.
    """
    changes = [each for each in invocations if each.name in ("cd", "pushd", "popd")]
    if not changes:
        return False
    path = changes[0].path(next(iter(changes[0].operands), "")) or ""
    lists, _ = _scanned(text)
    return sum(_num_certain(lists, is_there=os.path.isdir(path))) < len(changes)  # noqa: PTH112


def _num_certain(lists: Sequence[Sequence[_Command]], *, is_there: bool) -> Iterator[int]:
    """The numbers of changes of the folder, in each list, that happen if anything behind them does."""
    for number, commands in enumerate(lists):
        for at, command in enumerate(commands):
            if _CD.fullmatch(command.text) and not command.is_part:
                behind = {each.after for each in commands[at:]} - {"", ")"}
                is_first = number == at == 0 and command.after in ("&&", ";", "\n") and is_there
                if is_first or (command.after == "&&" and behind <= _CONDITIONAL):
                    yield 1


@lru_cache(maxsize=64)
def _scanned(text: str) -> tuple[Sequence[Sequence[_Command]], str]:
    scanner = _Scanner(text)
    try:
        scanner.read()
    except _NotPlain as error:
        return (), str(error)
    return scanner.lists, ""
