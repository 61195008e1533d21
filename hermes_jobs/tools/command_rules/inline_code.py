"""Checks on code on the command line of an interpreter, `awk` or `sed`: whether it only computes.

Code cannot be judged reliably by lists: approval is needed for code with a name for deleting, writing,
running or sending, and for code that decodes text or looks up names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.sensitive_paths import is_project_secret, paths_in
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_CODE_OPTION = re.compile(
    r"-[a-zA-Z0-9]*[ceErRp]|--?(?:eval|print|execute|run|command|Command|encodedcommand)"
)
_VALUED_OPTION = re.compile(r"-[WXId]")

_ED_ACTS = re.compile(r"!|^[ \t]*[\d,$%.]*(?:w|wq|e|r|sav\w*|so\w*)\s+[~/.]", re.MULTILINE)
_SCRIPT = re.compile(r"-m[\w.]*|[^-].*\.\w+")  # beside it, the input is data

_OPENS = re.compile(
    r"\bopen\s*+\(\s*+(?P<path>(?:[^,()\n]|\([^()\n]{0,100}\)){0,200}?)\s{0,20},\s*+(?:mode\s*+=\s*+)?(?P<mode>['\"][\w+]{1,4}['\"]|\w+\s*\))"
)
_QUOTED = re.compile(r"['\"]([\w./-]{3,200})['\"]")
_OWN_FILE = re.compile(r"['\"](?![/~\\])(?!.*\.\.)[\w./ -]+['\"]")


def code_acts(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether its inline code does more than compute and print."""
    name = without_version(invocation.name).lower()
    if name in words("interpreters", "awks"):
        return any(_awk_acts(program) for program in _awk_programs(invocation))
    if name in words("interpreters", "seds"):
        return any(_sed_acts(script) for script in _sed_scripts(invocation))
    if name in ("ed", "ex"):
        return _ED_ACTS.search(invocation.input + invocation.echoed) is not None
    if any(_may_act(language, code) for language, code in _framework_codes(name, invocation)):
        return True
    if name not in words("interpreters", "languages"):
        return False
    codes = list(_codes(invocation))
    if codes and name in words("interpreters", "unread_languages"):
        beside = [operand for operand in invocation.operands if operand not in codes]
        if any("/" in operand for operand in beside):
            return True  # it may be loaded
    return any(_may_act(name, code) for code in codes)


def code_connects(invocation: Invocation) -> bool:
    """Whether its inline code asks another machine, as far as a name or an address in it says so."""
    name = without_version(invocation.name).lower()
    codes = [code for _, code in _framework_codes(name, invocation)]
    if name in words("interpreters", "languages"):
        codes += [*_codes(invocation), *filter(None, (invocation.echoed,))]
        codes += invocation.arguments if codes else ()  # modules, such as `-MHTTP::Tiny`
    connects = pattern("interpreters", "connects")
    opens = pattern("interpreters", "opens_connection")
    return any(connects.search(code) or opens.search(code) for code in codes)


def _framework_codes(name: str, invocation: Invocation) -> Iterator[tuple[str, str]]:
    """The code that a framework's own command runs, with its language."""
    operands = invocation.operands
    if name == "rails" and operands[:1] in (("runner",), ("r",)):
        yield from (("ruby", code) for code in operands[1:2])
    if name in ("python", "django-admin") and "shell" in operands[:2]:
        yield from (("python", code) for code in values(invocation, "c", "--command"))
    if name == "php" and operands[:2] == ("artisan", "tinker"):
        yield from (("php", code) for code in values(invocation, "", "--execute"))
    if name == "mix" and operands[:1] == ("run",):
        yield from (("elixir", code) for code in values(invocation, "e", "--eval"))


def _codes(invocation: Invocation) -> Iterator[str]:
    """The code in arguments and, if the program is read from there, in the input of an interpreter."""
    arguments = invocation.arguments
    for index, argument in enumerate(arguments):
        following = next(iter(arguments[index + 1 :]), "")
        if _CODE_OPTION.fullmatch(argument) or argument == "eval":
            yield following
        elif (
            argument.startswith("-")
            and len(argument) > 2
            and argument[1] in "ceEr"
            and not argument.startswith("--")
        ):
            yield argument[2:]
        elif argument == "-m" and following in words("interpreters", "code_modules"):
            yield " ".join(arguments[index + 2 :])
            return
        elif not argument.startswith("-") and not _VALUED_OPTION.fullmatch("".join(arguments[:index][-1:])):
            break  # a script, and then its own arguments
    if invocation.input and not any(map(_SCRIPT.fullmatch, arguments[:2])):
        yield invocation.input


def _may_act(name: str, code: str) -> bool:
    if UNKNOWN in code and not code.replace(UNKNOWN, "").strip():
        return True  # nothing of it can be read
    if name in words("interpreters", "unread_languages") and code.strip():
        return not _only_computes(code)
    if name in words("interpreters", "backticks") and "`" in code:
        return True
    if name == "ipython" and re.search(r"^[ \t]*[!%]", code, re.MULTILINE):
        return True
    if any(f"{before}{secret}" in code for secret in paths_in("secrets") for before in "/\"'"):
        return True
    if any(map(is_project_secret, _QUOTED.findall(code))):
        return True
    if pattern("interpreters", "connects").search(code) and pattern("interpreters", "reads").search(code):
        return True  # it may send what it reads
    return bool(pattern("interpreters", "acts").search(code)) or any(
        _writes(match) for match in _OPENS.finditer(code)
    )


def _only_computes(code: str) -> bool:
    """Whether code of an unread language has no words but those that compute and print."""
    code = re.sub(r"`(\w{1,20})`", r" \1 ", code)  # of Haskell
    named = _WORD.findall(_TEXT.sub(" ", code))
    return _PLAIN.fullmatch(code) is not None and all(
        len(word) == 1 or word in words("interpreters", "pure_words") for word in named
    )


_WORD = re.compile(r"[^\W\d]\w*")
_TEXT = re.compile(r"\"[^\"\\`$#\n]{0,200}\"|'[^'\\`$#\n]{0,200}'")
_PLAIN = re.compile(r"[^`$@&\\#]{1,400}")


def _writes(opened: re.Match[str]) -> bool:
    """Whether an `open` is for writing, elsewhere than to a plain file of the folder."""
    mode = opened["mode"].strip("'\"")
    if opened["mode"][0] in "'\"" and not set("wax+") & set(mode):
        return False
    return _OWN_FILE.fullmatch(opened["path"].strip()) is None


# --- awk and sed ------------------------------------------------------------------------------------

_AWK_RUNS = re.compile(r"\bsystem\s*\(|\|\s*getline\b|\|&|\|\s*[\"(\w]|@load")
_AWK_READS = re.compile(r"\bgetline\b")
_AWK_PRINTS = re.compile(r"\bprintf?\b")
_AWK_CONSTANT = re.compile(
    r'"(?:[^"\\]|\\.?)*+(?:"|(?P<open>\Z))|(?:^|(?<=[(,{;!&|~\n]))\s*/(?:[^/\\\n]|\\.)*+/', re.DOTALL
)
_AWK_OWN_FILE = re.compile(r'>>?\s*+"(?![/~])(?!.{0,300}\.\.)[\w./ -]{1,300}"')


def _awk_programs(invocation: Invocation) -> Iterator[str]:
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


def _awk_acts(program: str) -> bool:
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


def _follows(word: re.Pattern[str], mark: str, parts: Sequence[str]) -> bool:
    """Whether in one of the parts the mark stands behind the word."""
    return any((found := word.search(part)) and mark in part[found.end() :] for part in parts)


def _sed_scripts(invocation: Invocation) -> Iterator[str]:
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


def _sed_acts(script: str) -> bool:
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


CHECKS = (code_acts,)
