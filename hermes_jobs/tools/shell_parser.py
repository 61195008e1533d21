"""Parses shell text like the shell: into simple commands, with quotes and substitutions.

For rules that need the programs of a command line. If it is not sure it raises `Unparsable`; it never
guesses. The grammar is that of POSIX's shell, section 2, with what bash adds to words and redirections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import dropwhile, takewhile

from hermes_jobs.tools.judging_budget import Budget, Unparsable
from hermes_jobs.tools.shell_words import NUMBER, UNKNOWN, ShellRedirect, SimpleCommand, WordReader

ASSIGNMENT = re.compile(
    r"(?P<name>[A-Za-z_]\w*)(?:\[(?P<subscript>[^\]]*)\])?(?P<adds>\+?)=(?P<value>.*)", re.DOTALL
)
_OPERATORS = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|()]")
_REDIRECT = re.compile(
    r"(?:\d+|\{(?P<variable>\w+)\})?(?P<operator>&>>|&>|<<<|<<-|<<|<>|<&|>&|>>|>\||<(?!\()|>(?!\())"
)
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_DECLARERS = frozenset(("export", "declare", "typeset", "local", "readonly"))
_TAKERS = frozenset(("read", "mapfile", "readarray", "getopts"))
_FINDS_PROGRAMS = re.compile(r"PATH|BASH_(?:CMDS|ALIASES|ENV|LOADABLES_PATH)")
_REFERS = re.compile(r"-\w*n")
_INDEX = re.compile(r"\$\(|`|\*|\?")  # in a name: a command as an index, or names of files
_INTEGER = re.compile(r"-\w*i")
_SPLIT_OPERATOR = re.compile(r"[&|;<>(][&|;<>(-]")
_EVALUATED = frozenset(("SECONDS", "RANDOM", "SRANDOM", "HISTCMD", "OPTIND", "LINENO", "EPOCHSECONDS"))
"""Variables whose values bash computes as they are given."""
REDIRECTION = 10  # words that one counts for: every rule about paths looks at its file
_LOGIC = frozenset(("&&", "||", "(", ")"))
_BEFORE_TESTS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{"))
_GOES_ON = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=")
_OBEYED = re.compile(r"HOME|PATH|ENV|CDPATH|BASH\w*|(?:GIT|XDG|LD|SSH)_\w+")
"""Variables of loops that programs obey: they are assigned like any others."""
_COMPARES = re.compile(r"-(?:eq|ne|lt|le|gt|ge)")
_BEGINS_COMPOUND = frozenset(("{", "if", "while", "until", "for", "select", "case", "[["))
_RESERVED = frozenset(
    ("if", "then", "else", "elif", "fi", "do", "done", "while", "until", "!", "{", "}", "coproc", "esac")
) | {"function"}


def parse(text: str, variables: Mapping[str, str], budget: Budget) -> list[SimpleCommand]:
    """Every simple command that the text may run, those within substitutions too, in order.

    `variables` are the known ones. Raises `Unparsable`.
    """
    if "\0" in text or NUMBER[-1] in text:
        raise Unparsable("it holds a NUL character")
    budget.characters(len(text))
    reader = _Reader(text, dict(variables), budget)
    reader.read_list("")
    return reader.commands


class _Reader(WordReader):
    """Reads commands; its state is the current command."""

    def __init__(
        self,
        text: str,
        variables: dict[str, str],
        budget: Budget,
        start: int = 0,
        subshell: tuple[int, ...] = (),
    ) -> None:
        super().__init__(text, variables, budget, start)
        self._subshell = subshell
        self._words: list[str] = []
        self._redirects: list[ShellRedirect] = []
        self._piped = False
        self._input = ""
        self._documents: list[tuple[str, bool, int]] = []
        self._in_case = False
        self._closing = ""
        self._start = start
        self._only_keywords, self._in_test = True, False

    def read_nested(self, text: str, start: int, closing: str) -> tuple[list[SimpleCommand], int]:
        """The commands of a substitution; their assignments stay known, unlike in the shell."""
        self.budget.words(1)
        with self.budget.deeper():
            inner = _Reader(text, self.variables, self.budget, start, (*self._subshell, self.at))
            inner.read_list(closing)
            return inner.commands, inner.at

    # --- lists and commands ----------------------------------------------------------------------

    def read_list(self, closing: str) -> None:
        """Read commands to the end of the text, or behind the closing parenthesis that is not opened here."""
        self._closing = closing
        outside = self._subshell
        while self.at < len(self.text):
            if self._skip_blank():
                continue
            if self.text[self.at] == "\n":
                self.at += 1
                self._flush(keep_pipe=True)
                self._read_documents()
            elif match := _REDIRECT.match(self.text, self.at):
                self._read_redirect(match)
            elif self.text.startswith("((", self.at) and self.is_arithmetic(self.at):
                self._read_arithmetic()
            elif self.text[self.at] == "(" and self._begins_array():
                self._read_array()
            elif (
                (match := _OPERATORS.match(self.text, self.at)) and self._in_test and match.group() in _LOGIC
            ):
                self.at = match.end()
                self._words.append(match.group())
            elif match:
                self.at = match.end()
                self._flush(keep_pipe=match.group() == "(")
                if self._closes(match.group(), outside):
                    return self._finish()
            else:
                self._read_argument()
        if closing or self._subshell != outside:
            raise Unparsable("a parenthesis is not closed")
        self._flush()
        return self._finish()

    def _read_arithmetic(self) -> None:
        self.skip_arithmetic()
        if self._words[-1:] == ["for"]:  # `{` or `do` follows, perhaps without a semicolon
            self._words, self._only_keywords = [], True

    def _read_argument(self) -> None:
        """Read one word of the current command, and note whether it begins or ends `[[ … ]]`."""
        begin = self.at
        self._start = self._start if self._words else begin
        words = self.read_word()
        self.budget.words(max(1, len(words)))
        self._words.extend(words)
        written = self.text[begin : min(self.at, begin + 10)]
        self._in_test = written == "[[" if self._only_keywords else self._in_test and written != "]]"
        self._only_keywords = self._only_keywords and written in _BEFORE_TESTS

    def _begins_array(self) -> bool:
        return (
            bool(self._words)
            and self.text[self.at - 1] == "="
            and _ARRAY.fullmatch(self._words[-1]) is not None
        )

    def _read_array(self) -> None:
        """Read `(…)` behind `name=`: its words are data, which become the value."""
        self.at += 1
        words: list[str] = []
        while not self.text.startswith(")", self.at):
            if self.at >= len(self.text):
                raise Unparsable("a parenthesis is not closed")
            start = self.at
            if not self._skip_blank():
                words.extend(self.read_word())
                self.at += self.text.startswith("\n", self.at)
            if start == self.at:
                raise Unparsable("an array holds more than words")
        self.at += 1
        if self.text[self.at : self.at + 1] not in ("", " ", "\t", "\n", ";", "&", "|", ")"):
            raise Unparsable("a word follows an array without a blank")
        self.budget.words(len(words))
        self._words[-1] += " ".join(words)

    def _closes(self, operator: str, outside: tuple[int, ...]) -> bool:
        """Whether the operator is the parenthesis that closes the list; subshells in it are followed."""
        if operator in ("|", "|&"):
            self._piped = True
        elif operator == "(":
            self._subshell = (*self._subshell, self.at)
            self.budget.deep(len(self._subshell))
        elif operator == ")" and self._subshell != outside:
            self._subshell = self._subshell[:-1]
        elif operator == ")" and self._closing:
            return True
        elif operator == ")" and not self._in_case:
            raise Unparsable("a parenthesis is closed that was not opened")
        return False

    def _finish(self) -> None:
        if self._documents:
            raise Unparsable("a here-document has no end")

    def _skip_blank(self) -> bool:
        if self.text[self.at] in " \t":
            self.at += 1
        elif self.text.startswith("\\\n", self.at):
            around = self.text[max(self.at - 1, 0) : self.at] + self.text[self.at + 2 : self.at + 3]
            if _SPLIT_OPERATOR.fullmatch(around):
                raise Unparsable("an operator goes on on the next line")
            self.at += 2
        elif self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        else:
            return False
        return True

    def _flush(self, *, keep_pipe: bool = False) -> None:
        """End the current command, if any."""
        if self._words or self._redirects:
            keep_pipe = self._end_command() and keep_pipe
        self._words, self._redirects, self._input = [], [], ""
        self._only_keywords, self._in_test = True, False
        self._piped = self._piped and keep_pipe

    def _end_command(self) -> bool:
        """Append the current command; whether its words were nothing but what begins others, such as `if`."""
        words = self._behind_reserved(self._words)
        given: list[str] = []
        while words and words[0] in ("for", "select", "case"):
            if words[0] != "case":
                given += [f"{name}={UNKNOWN}" for name in words[1:2] if _OBEYED.fullmatch(name)]
            words = self._behind_reserved(self._begin_compound(words))
        words = [*given, *words]
        if words[:1] == ["set"]:
            self._set_parameters(words[1:])
        if words[:1] == ["[["]:
            self._check_comparisons(words)
        self._assign(words)
        if not words and not self._redirects:
            return True
        self.budget.command()
        command = SimpleCommand(
            tuple(words), tuple(self._redirects), self._piped, self._input, self._subshell
        )
        self.commands.append(command)
        return False

    def _behind_reserved(self, words: list[str]) -> list[str]:
        """The words behind those that begin or end a part of the list, such as `if`."""
        first = 0
        while first < len(words):
            word, behind = words[first], words[first + 1 : first + 3]
            if word == "time" and not _BEGINS_COMPOUND.isdisjoint(behind[:1]):
                first += 1
                continue
            if word not in _RESERVED:
                break
            self._piped = self._piped or word == "coproc"  # its input is a pipe
            is_named = word == "function" or (
                word == "coproc" and not _BEGINS_COMPOUND.isdisjoint(behind[1:])
            )
            first += 2 if is_named else 1
        return words[first:]

    def _check_comparisons(self, words: list[str]) -> None:
        """Note if `[[ … -eq … ]]` evaluates an unknown text."""
        written = self.text[self._start : self.at]
        for tokens, substitutes in ((written.split(), False), (words, "$(" in written or "`" in written)):
            for index, token in enumerate(tokens):
                for side in tokens[max(0, index - 1) : index + 2] if _COMPARES.fullmatch(token) else ():
                    self.check_computed("" if _COMPARES.fullmatch(side) else side)
                    if substitutes and UNKNOWN in side.replace(NUMBER, ""):
                        self.evaluates()

    def _assign(self, words: list[str]) -> None:
        """Store what the command assigns: `x=…`, `declare x=…`, and unknown values of `read` and the like."""
        plain = list(dropwhile(ASSIGNMENT.fullmatch, words))
        if plain and plain[0] in (*_TAKERS, "wait", "unset"):
            self._take(plain[0], plain[1:])
            return
        if plain[:1] == ["printf"] and "-v" in plain:
            self._take("printf", plain[plain.index("-v") + 1 :][:1])
            return
        if words[:1] and words[0] in _DECLARERS and "-A" in words:
            names = (word.partition("=")[0] for word in words[1:] if word[:1] != "-")
            self.variables |= {f"{name}[]": "associative" for name in names}
        declares = words[:1] and words[0] in _DECLARERS
        if declares and words[0] != "export" and any(map(_REFERS.match, words[1:])):
            self.evaluates()  # a name that stands for another one
        if declares and any(map(_INTEGER.match, words[1:])):
            names = (word.partition("=")[0] for word in words[1:] if word[:1] != "-")
            self.variables |= {f"{name} -i": "integer" for name in names}
        self._check_subscripts(words[1:] if declares else words)
        values = [word for word in words[1:] if word[:1] != "-"] if declares else words
        if declares or all(map(ASSIGNMENT.fullmatch, values)):
            for match in filter(None, map(ASSIGNMENT.fullmatch, values)):
                name, value = match["name"], match["value"]
                before = self.variables.get(name, UNKNOWN) if match["adds"] else ""
                self.budget.characters(len(before))
                self.variables[name] = before + value if match["subscript"] is None else UNKNOWN
                if name.startswith("BASH_"):
                    self._check_given(name)
                if name in _EVALUATED or f"{name} -i" in self.variables:
                    self._check_number(value)

    def _check_number(self, value: str) -> None:
        """Note if a value that is computed has more than numbers in it."""
        self.check_computed(value)
        if UNKNOWN in value.replace(NUMBER, ""):
            self.evaluates()

    def _take(self, program: str, words: list[str]) -> None:
        """Store that a program gives variables values that are not known, or that `unset` may remove them."""
        if any(map(_INDEX.search, words)):
            self.evaluates()
        for name in (word.partition("[")[0] for word in words if word[:1] != "-"):
            if not (program == "unset" and name == "HOME"):  # `~` stays what it is
                self.variables[name] = UNKNOWN
            self._check_given(name)

    def _check_given(self, name: str) -> None:
        """Note if it decides where the shell finds programs, or the shell evaluates what it is given."""
        if _FINDS_PROGRAMS.fullmatch(name) or UNKNOWN in name or name in _EVALUATED:
            self.evaluates()

    def _check_subscripts(self, words: list[str]) -> None:
        """Note if an assignment to an element of an array evaluates an unknown text."""
        for match in takewhile(bool, map(ASSIGNMENT.fullmatch, words)):
            if match is not None and match["subscript"] and f"{match['name']}[]" not in self.variables:
                self.check_computed(match["subscript"])
                if UNKNOWN in match["subscript"].replace(NUMBER, ""):
                    self.evaluates()

    def _set_parameters(self, arguments: list[str]) -> None:
        """Store the positional parameters of `set`."""
        first = next(
            (i for i, argument in enumerate(arguments) if argument == "--" or argument[:1] not in "-+"), None
        )
        if first is None:
            return
        parameters = arguments[first + (arguments[first] == "--") :]
        self.variables["@"] = self.variables["*"] = " ".join(parameters)
        self.variables |= {str(number): parameter for number, parameter in enumerate(parameters[:9], 1)}

    def _begin_compound(self, words: list[str]) -> list[str]:
        """Store what a loop gives its variable; returns the first command of a body that begins at once."""
        if words[0] == "case":
            if self._closing:
                raise Unparsable("it has a `case` within a substitution")
            self._in_case = True
            return []
        self._check_given("".join(words[1:2]))
        if len(words) > 2 and words[2] == "in":
            self.variables[words[1]] = " ".join(words[3:])
            return []
        self.variables[words[1] if len(words) > 1 else ""] = UNKNOWN
        return words[3:] if words[2:3] in (["do"], ["{"]) else []

    # --- redirections ----------------------------------------------------------------------------

    def _read_redirect(self, match: re.Match[str]) -> None:
        self.budget.words(REDIRECTION)
        if match["variable"]:  # gets the number of the descriptor
            self.variables[match["variable"]] = NUMBER
            self._check_given(match["variable"])
        self.at = match.end()
        while self.at < len(self.text) and (
            self.text[self.at] in " \t" or self.text.startswith("\\\n", self.at)
        ):
            self._skip_blank()
        start = self.at
        target = " ".join(self.read_word())
        if start == self.at:
            raise Unparsable("a redirection names no file")
        operator = match["operator"]
        if operator in ("<<", "<<-"):
            if UNKNOWN in target:
                raise Unparsable("a here-document's end is not plain text")
            literal = any(quote in self.text[start : self.at] for quote in "'\"\\")
            self._documents.append((target, literal, len(operator)))
        elif operator == "<<<":
            self._input += target
        else:
            self._redirects.append(ShellRedirect(operator, target))

    def _read_documents(self) -> None:
        """Read the here-documents that begin with this line; they are input of the last command."""
        for end, literal, dash in self._documents:
            body: list[str] = []
            while True:
                if self.at >= len(self.text):
                    raise Unparsable("a here-document has no end")
                parts = [self._document_line()]
                while not literal and _GOES_ON.search(parts[-1]) and self.at < len(self.text):
                    parts[-1] = parts[-1][:-1]
                    parts.append(self._document_line())
                line, is_whole = "".join(parts), len(parts) == 1
                if not is_whole and line.replace("\t", "") == end.replace("\t", ""):
                    raise Unparsable("the end of a here-document is in two lines")
                line = line.lstrip("\t") if dash == 3 else line
                if line == end and is_whole:
                    break
                body.append(line)
            document = "\n".join(body)
            if not literal:
                self._substitutions(document)
            if self.commands:
                last = self.commands[-1]
                self.commands[-1] = replace(last, input=f"{last.input}{document}\n")
        self._documents = []

    def _document_line(self) -> str:
        """The next line of a here-document."""
        start = self.at
        stop = self.text.find("\n", start)
        stop = len(self.text) if stop < 0 else stop
        self.at = stop + 1
        return self.text[start:stop]

    def _substitutions(self, text: str) -> None:
        """Read the substitutions within text that is otherwise data."""
        with self.budget.deeper():
            inner = _Reader(text, self.variables, self.budget, subshell=(*self._subshell, self.at))
            while inner.at < len(text):
                inner.text_piece("\0")
        last = self.commands.pop() if self.commands else None
        self.commands.extend(inner.commands)
        if last is not None:
            self.commands.append(last)
