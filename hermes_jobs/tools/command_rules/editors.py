"""What editors do without a terminal: the commands of `vim`, `ex` and `ed`, and the code of `emacs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from hermes_jobs.tools.command_rules.code_words import does_more
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import words

_ADDRESS = r"(?:[%.$]|\d+|'\w|/(?:[^/\\\n]|\\.){0,200}+/|\?(?:[^?\\\n]|\\.){0,200}+\?)(?:[+-]\d*)?"
_BEFORE = re.compile(
    rf"[\s:]*(?:(?:sil(?:ent)?!?|keepj\w*|keepp\w*|noautocmd|noau|lockmarks|verb(?:ose)?|arg(?:do)|bufdo|windo|tabdo)\s+|\d+verb\w*\s+)*"
    rf"(?:{_ADDRESS}(?:\s*[,;]\s*{_ADDRESS})?)?\s*"
)
_COMMAND = re.compile(r"(?P<name>[A-Za-z]+|[!&<>=#~@*])?(?P<bang>!?)(?P<rest>.*)", re.DOTALL)
_SUBSTITUTES = re.compile(r"(?:s|su|sub\w*)(?=[^\w\s]|$)|(?:s|su|sub\w*)$")
_GLOBAL = re.compile(r"(?:g|global|v|vglobal)!?(?P<mark>[^\w\s|])")
_LANGUAGES = {
    "lua": "lua",
    "luado": "lua",
    "py": "python",
    "py3": "python",
    "python": "python",
    "python3": "python",
}
_WRITES = re.compile(r"(?:w|wr\w*|wq\w*|wa\w*|x|xit|xa\w*|up\w*|sav\w*)")
_OPENS = re.compile(r"(?:e|edit|r|read|f|file|vi\w*|sp|split|vs|vsplit|tabe\w*|tabnew|new|b)")
_ED_ACTS = re.compile(
    r"!|^[ \t]*[\d,$%.]*(?:w|wq|e|r|sav\w*|so\w*)\s+[~/.]|^[ \t]*(?:1?,\$?|%)d", re.MULTILINE
)
_ALL_LINES = re.compile(r"(?:^|[\s:])(?:%|1?,\$)\s*$")
_MAX_DEPTH = 4


def editor_acts(name: str, invocation: Invocation, context: CommandContext) -> bool:
    """Whether an editor is told to do more than to edit files of the folder."""
    if name in ("emacs", "emacsclient"):
        return _emacs_acts(invocation, context)
    text = f"{invocation.input}\n{invocation.echoed}".replace("\\n", "\n")
    reads = invocation.piped or bool(invocation.redirects)
    if reads and name in ("ed", "ex") and (not text.strip() or UNKNOWN in text):
        return any(redirect.operator == "<" for redirect in invocation.redirects) or invocation.piped
    if name in ("ed", "ex") and _ED_ACTS.search(text):
        return True
    commands = list(_commands(invocation)) if name != "ed" else []
    if any(_ex_acts(command, invocation, context) for command in commands):
        return True
    writes = any(_WRITES.search(command) for command in commands)
    return writes and any(_is_outside(word, invocation, context) for word in _files(invocation, commands))


def _commands(invocation: Invocation) -> Iterator[str]:
    """The commands of ex in the arguments of `vim`."""
    for argument, following in pairwise((*invocation.arguments, "")):
        if argument in ("-c", "--cmd") or re.fullmatch(r"-[a-zA-Z]+c", argument):
            yield following
        elif argument.startswith("-c"):
            yield argument[2:]
        elif argument.startswith("+") and argument[1:]:
            yield argument[1:]


def _files(invocation: Invocation, commands: list[str]) -> list[str]:
    return [word for word in invocation.operands if word not in commands and not word.startswith("+")]


def _is_outside(word: str, invocation: Invocation, context: CommandContext) -> bool:
    path = invocation.path(word)
    if path is None:
        return True
    real = context.real(path)
    return not any(is_inside(real, folder) for folder in context.writable)


def _ex_acts(text: str, invocation: Invocation, context: CommandContext, depth: int = 0) -> bool:
    """Whether commands of ex run a program, write elsewhere, empty the file, or are not known."""
    if UNKNOWN in text or depth > _MAX_DEPTH:
        return True
    before = _BEFORE.match(text)
    rest = text[before.end() :] if before else text
    if found := _GLOBAL.match(rest):
        end = _end_of_pattern(rest, found.end(), found["mark"])
        return end is None or _ex_acts(rest[end:] or "p", invocation, context, depth + 1)
    if _SUBSTITUTES.match(rest):
        replaced = re.search(r"\\=(?P<code>.*)", rest)
        acts = replaced is not None and does_more("vim", replaced["code"], invocation.folder, context)
        following = re.search(r"/[gceinp#&r]*\s*\|(?!\|)(?P<rest>.*)", rest, re.DOTALL)
        return acts or (following is not None and _ex_acts(following["rest"], invocation, context, depth + 1))
    is_all = before is not None and _ALL_LINES.search(before.group()) is not None
    return _command_acts(rest, invocation, context, depth, is_all=is_all)


def _command_acts(
    text: str, invocation: Invocation, context: CommandContext, depth: int, *, is_all: bool
) -> bool:
    """Whether a command of ex without its address does so; `is_all`: it is for all lines."""
    match = _COMMAND.match(text)
    assert match is not None
    name, argument = match["name"] or "", match["rest"].strip()
    if name in _LANGUAGES or name in ("call", "let", "echo", "echom", "if"):
        return does_more(_LANGUAGES.get(name, "vim"), argument, invocation.folder, context)
    argument, _, later = argument.partition("|")
    if name in ("i", "insert", "a", "append", "c", "change"):
        return False  # what follows is text
    if name == "":
        return bool(match["bang"])
    runs = argument.strip().startswith("!") or (match["bang"] and name in ("r", "read"))
    if name not in words("interpreters", "ex_commands") or runs or (name == "d" and is_all):
        return True
    takes_file = _WRITES.fullmatch(name) or _OPENS.fullmatch(name)
    named = argument.replace(">>", " ").replace("~", context.paths.user_home).split() if takes_file else []
    if any(_is_outside(word, invocation, context) for word in named if not word.startswith("+")):
        return True
    return bool(later.strip()) and _ex_acts(later, invocation, context, depth + 1)


def _end_of_pattern(text: str, start: int, mark: str) -> int | None:
    """The position behind the pattern of a global command; None where it has no end."""
    index = start
    while index < len(text):
        if text[index] == "\\":
            index += 1
        elif text[index] == mark:
            return index + 1
        index += 1
    return None


def _emacs_acts(invocation: Invocation, context: CommandContext) -> bool:
    """Whether the code and the functions that `emacs` is given do more than edit files of the folder."""
    codes = []
    for argument, following in pairwise((*invocation.arguments, "")):
        option, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and option in ("eval", "execute"):
            codes.append(value if equals else following)
        elif argument.startswith("-") and option in ("f", "funcall"):
            codes.append(f"({value if equals else following})")
    if not codes:
        return False
    if any(code.strip() == UNKNOWN for code in codes):
        return True
    files = [word for word in invocation.operands if word not in codes and f"({word})" not in codes]
    named = " ".join(f'"{word}"' for word in files if word.startswith(("/", "~", "..")))
    return does_more("emacs", "\n".join((*codes, named)), invocation.folder, context)
