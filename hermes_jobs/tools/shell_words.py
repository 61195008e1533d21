"""Reads one word of shell text: quotes, variables, braces and substitutions.

A word's fields are those after the shell's expansions, as far as they are known. `shell_parser` reads the
rest.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass

from hermes_jobs.tools.brace_words import made_by
from hermes_jobs.tools.judging_budget import Budget, Unparsable

__all__ = ["NUMBER", "SUBSTITUTED", "UNKNOWN", "ShellRedirect", "SimpleCommand", "Unparsable", "WordReader"]

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Placeholder in a word for text that is known only at run time."""

NUMBER = f"{UNKNOWN}\uffff"
"""Placeholder for a number that is known only at run time. Its second character is in no read text."""

SUBSTITUTED = f"/dev/fd/{UNKNOWN}"
"""Placeholder for a file with the output of a command."""

SCRATCH_FILE = "/tmp/mktemp"
"""What stands for a file or folder that `mktemp` makes."""

MAX_BRACES = 256


@dataclass(frozen=True)
class ShellRedirect:
    """`operator` as written, without the file descriptor."""

    operator: str
    target: str


@dataclass(frozen=True)
class SimpleCommand:
    """One command: its words after expansion as far as known, assignments in front included.

    `piped`: it reads what the command before it writes. `input`: its here-documents and here-strings.
    `subshell`: the start of each enclosing subshell, outermost first.
    """

    words: tuple[str, ...]
    redirects: tuple[ShellRedirect, ...] = ()
    piped: bool = False
    input: str = ""
    subshell: tuple[int, ...] = ()


_EVAL = SimpleCommand(("eval", UNKNOWN))
_PLAIN = re.compile(r"[\w./,:=@%+*?\[\]!^#-]+")
_ALL_PARAMETERS = ('"$@"', '"${@}"')
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_PARENTHESES = re.compile(r"[()'\"\\`]")
_BACKTICKS = re.compile(r"`((?:[^`\\]|\\.)*+)`", re.DOTALL)
_LITERAL = re.compile(r"[^$`\\\"]+")
_COMPUTED_NUMBERS = re.compile(
    r"(?:wc|nproc|id -[ug]|expr|stat -c %s|git rev-list --count|grep -\w*c|date \+(?:%[YmdHMSjusNeV])+)"
    r"(?: |$)"
)
_NUMERIC = re.compile(r"[\s\d+/%()<>=!&|^~:.,-]*|0[xX][\da-fA-F]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_EVALUATED = re.compile(r"(?P<indirect>!)?(?P<name>\w+)(?:\[(?P<subscript>.*)\])?(?P<rest>.*)", re.DOTALL)
_INDICES = re.compile(r"!(\w+)\[[@*]\]")
_GIVEN_NUMBER = re.compile(
    r"([A-Za-z_]\w*)\s*(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)|(?:\+\+|--)\s*([A-Za-z_]\w*)"
)
_GIVES = re.compile(r"(\w+)(?:\[.*\])?:?=", re.DOTALL)
_OFFSETS = re.compile(r":(?![-+=?])")
_ANSI_ESCAPES = dict(zip("ntrabeEfv", "\n\t\r\a\b\x1b\x1b\f\v", strict=True))
_ANSI_NUMBER = re.compile(r"x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}")


class WordReader(ABC):
    """A position in a text, the variables as they are there, and the commands found in substitutions."""

    def __init__(self, text: str, variables: dict[str, str], budget: Budget, start: int = 0) -> None:
        self.text = text
        self.at = start
        self.budget = budget
        self.variables = variables
        self.commands: list[SimpleCommand] = []

    @abstractmethod
    def read_nested(self, text: str, start: int, closing: str) -> tuple[list[SimpleCommand], int]:
        """The commands of a substitution that begins at `start`, and the position behind it."""

    def read_word(self) -> list[str]:
        """The fields that one word becomes: several where a variable or braces expand to them.

        Raises `Unparsable`.
        """
        fields: list[list[str]] = [[]]
        bare: list[str] = []  # the word with `_` for what is quoted or computed
        quoted = braces = False
        while self.at < len(self.text):
            if plain := _PLAIN.match(self.text, self.at):
                fields[-1].append(plain.group())
                bare.append(plain.group())
                self.at = plain.end()
                continue
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                self._nested()
                fields[-1].append(SUBSTITUTED)
            elif char in " \t\n;&|()<>":
                break
            elif self.text.startswith(_ALL_PARAMETERS, self.at) or (
                char == "$" and not self.text.startswith(("$'", '$"'), self.at)
            ):
                skipped = char == '"'
                self.at += skipped
                value = self._dollar()
                first, *more = self._split(value)
                self.at += skipped
                fields[-1].append(first)
                fields.extend([field] for field in more)
                bare.append("_" * len(value))
            elif char == "~" and self._begins_home(next(filter(None, reversed(fields[-1])), "")):
                self.at += 1
                fields[-1].append(self.variables.get("HOME", "~"))
            elif self.text.startswith("\\\n", self.at) and self.text[self.at - 1 : self.at] not in (
                "",
                " ",
                "\t",
            ):
                if self.text[self.at + 2 : self.at + 3] in ("", *" \t\n;&|)"):
                    break
                raise Unparsable("a word goes on on the next line")
            else:
                quoted = quoted or char in "'\"$"
                braces = braces or char == "{"
                fields[-1].append(self._piece())
                bare.append(char if char in "{}" else "_" * len(fields[-1][-1]))
        if braces:
            self.budget.made(made_by("".join(bare)))
        fields_left = [one for one in map("".join, fields) if one] or ([""] if quoted else [])
        return (
            [word for field in fields_left for word in self._expanded(field)]
            if braces and not quoted
            else fields_left
        )

    def _split(self, text: str) -> list[str]:
        """The fields of an expansion without quotes; unknown if the text has changed the separators."""
        return re.split(r"[ \t\n]+", text) if self.variables.get("IFS", " ") == " " else [UNKNOWN]

    def _begins_home(self, before: str) -> bool:
        return (not before or before.endswith("=")) and self.text[self.at + 1 : self.at + 2] in "/ \t\n;&|)"

    def _piece(self) -> str:
        """The next character, quoted part or command substitution of a word."""
        char = self.text[self.at]
        if char == "'":
            return self._until_quote()
        if self.text.startswith("$'", self.at):
            return self._ansi_quoted()
        if char == '"' or self.text.startswith('$"', self.at):
            self.at += 1 if char == '"' else 2
            return self._double_quoted()
        if char == "\\":
            self.at += 2
            text = self.text[self.at - 1 : self.at]
            return "" if text == "\n" else text
        if char == "`":
            return self._backticks()
        self.at += 1
        return char

    def _until_quote(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unparsable("a quote is not closed")
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double_quoted(self) -> str:
        pieces: list[str] = []
        while not self.text.startswith('"', self.at):
            if literal := _LITERAL.match(self.text, self.at):
                pieces.append(literal.group())
                self.at = literal.end()
            else:
                pieces.append(self.text_piece('"'))
        self.at += 1
        return "".join(pieces)

    def text_piece(self, closing: str) -> str:
        """The next character or substitution of text in which only `$`, backticks and some escapes count.

        Raises `Unparsable` at the end of the text.
        """
        if self.at >= len(self.text):
            raise Unparsable("a quote is not closed")
        char = self.text[self.at]
        if char == "$":
            return self._dollar(quoted=True)
        if char == "`":
            return self._backticks()
        if char == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", "\\", "\n", closing):
            self.at += 2
            return self.text[self.at - 1].replace("\n", "")
        self.at += 1
        return char

    def _ansi_quoted(self) -> str:
        self.at += 2
        text = ""
        while not self.text.startswith("'", self.at):
            char = self.text[self.at : self.at + 1]
            self.at += 1
            if not char:
                raise Unparsable("a quote is not closed")
            if char == "\\":
                number = _ANSI_NUMBER.match(self.text, self.at)
                escaped = number.group() if number else self.text[self.at : self.at + 1]
                self.at += len(escaped)
                char = _ansi_character(escaped) if number else _ANSI_ESCAPES.get(escaped, escaped)
            text += char
        self.at += 1
        return text.partition("\0")[0]  # as in bash, whose texts end there

    # --- substitutions ---------------------------------------------------------------------------

    def _nested(self) -> str:
        """Read the commands up to the closing parenthesis; returns their output, if known."""
        commands, self.at = self.read_nested(self.text, self.at, ")")
        self.commands.extend(commands)
        return _printed(commands)

    def _backticks(self) -> str:
        match = _BACKTICKS.match(self.text, self.at)
        if match is None:
            raise Unparsable("a backtick is not closed")
        self.at = match.end()
        commands, _end = self.read_nested(re.sub(r"\\([`$\\\"])", r"\1", match[1]), 0, "")
        self.commands.extend(commands)
        return _printed(commands)

    def _dollar(self, *, quoted: bool = False) -> str:
        """The value of what `$` begins. `quoted`: within double quotes, or a here-document."""
        if self.text.startswith(("$[", "$\\\n"), self.at):
            raise Unparsable("it has `$[`, or `$` at the end of a line")
        if self.text.startswith("$((", self.at) and self.is_arithmetic(self.at + 1):
            self.at += 1
            self.skip_arithmetic()
            return NUMBER
        if self.text.startswith("$(", self.at):
            self.at += 2
            return self._nested()
        if self.text.startswith("${", self.at):
            with self.budget.deeper():
                return self._braced(quoted=quoted)
        match = _NAME.match(self.text, self.at + 1)
        self.at += 1
        if match is None:
            return "$"
        self.at = match.end()
        if self.text.startswith("\\\n", self.at):
            raise Unparsable("the name of a variable goes on on the next line")
        return self._value(match.group())

    def _value(self, name: str) -> str:
        """The value of a variable, as far as it is known."""
        value = self.variables.get(name, NUMBER if name in ("#", "?", "$") else UNKNOWN)
        self.budget.characters(len(value))
        return value

    def _braced(self, *, quoted: bool) -> str:
        start = self.at
        self.at += 2
        while not self.text.startswith("}", self.at):
            if self.text.startswith("$", self.at):
                self._dollar(quoted=quoted)
            elif self.text.startswith("\\\n", self.at):
                raise Unparsable("a variable goes on on the next line")
            elif self.text.startswith(("'", '"'), self.at) and quoted:
                raise Unparsable("it has quotes in the value of a variable within quotes")
            elif self.at < len(self.text):
                self._piece()
            else:
                raise Unparsable("a brace is not closed")
        self.at += 1
        inside = self.text[start + 2 : self.at - 1]
        if (inside[:1] == "#" and len(inside) > 1) or self._is_indices(inside):
            return NUMBER
        if inside not in self.variables:
            self._check_expansion(inside)
        if given := _GIVES.match(inside):  # a value, if it has none
            self.variables[given[1]] = UNKNOWN
        return self._value(inside)

    def _is_indices(self, inside: str) -> bool:
        """Whether it stands for the indices of an array that the text sets, which is not associative."""
        match = _INDICES.fullmatch(inside)
        return match is not None and match[1] in self.variables and f"{match[1]}[]" not in self.variables

    def evaluates(self) -> None:
        """Note that the shell evaluates a text that is not known: as `eval` does."""
        if self.commands[-1:] != [_EVAL]:
            self.budget.command()
            self.commands.append(_EVAL)

    def _check_expansion(self, inside: str) -> None:
        """Note `${…}` that evaluates the text of a value: `@P`, subscripts, offsets, `!`."""
        match = _EVALUATED.match(inside)
        if match is None:
            return
        if match["rest"].startswith("@P"):
            self.evaluates()
        if match["indirect"] and not match["rest"] and match["subscript"] is None:
            self._check_value(match["name"], r"\w*")
        if match["subscript"] not in (None, "@", "*") and f"{match['name']}[]" not in self.variables:
            self.check_computed(match["subscript"])
        if _OFFSETS.match(match["rest"]):
            self.check_computed(match["rest"])

    def check_computed(self, expression: str) -> None:
        """Note arithmetic that uses a value which the shell would evaluate, such as `a[$(…)]`."""
        if "$(" in expression or "`" in expression:  # also within quotes
            self.evaluates()
        for name in set(_VARIABLE.findall(expression)):
            self._check_value(name, _NUMERIC)
        for name in filter(None, (given[1] or given[2] for given in _GIVEN_NUMBER.finditer(expression))):
            self.variables[name] = NUMBER
            if name == "PATH":
                self.evaluates()  # a number, which may be a folder's name

    def _check_value(self, name: str, harmless: str | re.Pattern[str]) -> None:
        value = self.variables.get(name)
        if value is not None and re.fullmatch(harmless, value.replace(NUMBER, "1")) is None:
            self.evaluates()

    def is_arithmetic(self, start: int) -> bool:
        """Whether `((` opens arithmetic: then `))` closes it.

        Raises `Unparsable` if it is not closed, or if quotes within make that uncertain.
        """
        opened = 0
        for match in _PARENTHESES.finditer(self.text, start):
            char = match.group()
            if char not in "()":
                raise Unparsable("its double parentheses hold quotes")
            opened += 1 if char == "(" else -1
            if opened == 0:
                return self.text[match.start() - 1] == ")"
        raise Unparsable("a parenthesis is not closed")

    def skip_arithmetic(self) -> None:
        """Go behind the arithmetic that begins here. Raises `Unparsable` if it is not closed."""
        opened, start, computed = 0, self.at, []
        with self.budget.deeper():
            while True:
                if self.at >= len(self.text):
                    raise Unparsable("a parenthesis is not closed")
                char = self.text[self.at]
                opened += (char == "(") - (char == ")")
                if char == "$":
                    begin = self.at
                    substitutes = self.text.startswith("$(", self.at)
                    value = self._dollar()
                    if substitutes and value != NUMBER and not value.isdigit():
                        self.evaluates()
                    computed.append((begin, self.at, substitutes))
                else:
                    self.at += 1
                if opened == 0:
                    break
        self.check_computed(_without(self.text[start : self.at], start, computed))

    def _expanded(self, field: str) -> list[str]:
        """The words of a brace expansion."""
        results: list[str] = []
        open_fields = [field]
        while open_fields:
            current = open_fields.pop()
            match = next((one for one in _BRACES.finditer(current) if "," in one[1]), None)
            if match is None:
                results.append(current)
                continue
            parts = match[1].split(",")
            if len(results) + len(open_fields) + len(parts) > MAX_BRACES:
                raise Unparsable("its braces stand for too many words")
            words = [current[: match.start()] + part + current[match.end() :] for part in reversed(parts)]
            self.budget.characters(sum(map(len, words)))
            open_fields.extend(words)
        return [result for result in results if result]


def _without(text: str, start: int, ranges: list[tuple[int, int, bool]]) -> str:
    """The text without the substitutions in it."""
    pieces, at = [], start
    for begin, end, substitutes in ranges:
        if substitutes:
            pieces.append(text[at - start : begin - start])
            at = end
    return " ".join((*pieces, text[at - start :]))


def _printed(commands: list[SimpleCommand]) -> str:
    """The output of a substitution that is a single `echo` or `printf` of plain words."""
    if len(commands) == 1 and commands[0].words in (("mktemp",), ("mktemp", "-d")):
        return SCRATCH_FILE
    if len(commands) == 1 and commands[0].words[:1] in (("echo",), ("printf",)) and not commands[0].redirects:
        text = " ".join(word for word in commands[0].words[1:] if word not in ("-n", "-e"))
        return UNKNOWN if "\\" in text or "%" in text else text  # the formatted text of `printf`
    if commands and _COMPUTED_NUMBERS.match(" ".join(commands[-1].words)):
        return NUMBER
    return UNKNOWN


def _ansi_character(escape: str) -> str:
    number = int(escape[1:], 16) if escape[0] in "xuU" else int(escape, 8)
    is_byte = escape[0] not in "uU" and number > 0x7F  # a part of a character, or of none
    return UNKNOWN if is_byte or number >= 0x110000 else chr(number)
