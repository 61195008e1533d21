"""Checks on code on the command line of an interpreter, an editor, `awk` or `sed`, or in its input.

Code cannot be judged reliably by lists: what its words do is in `code_words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from hermes_jobs.tools.command_rules.code_words import does_more
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.editors import editor_acts
from hermes_jobs.tools.command_rules.outside_code import names_outside
from hermes_jobs.tools.command_rules.text_programs import awk_acts, awk_programs, sed_acts, sed_scripts
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.tables import load, pattern, words

_CODE_OPTION = re.compile(
    r"-[a-zA-Z0-9]*[ceErRp]|--?(?:eval|print|execute|run|command|Command|encodedcommand)"
)
_JOINED = re.compile(r"--?(?:eval|execute|batch-string|run-string|command)[=:](?P<code>.*)", re.DOTALL)
_VALUED_OPTION = re.compile(r"-[WXIdML]|--(?:class-path|project|load-path|input-type)|-Sdeps")
_SCRIPT = re.compile(r"-m[\w.]*|[^-].*\.\w+")  # beside it, the input is data


def code_acts(invocation: Invocation, context: CommandContext) -> bool:
    """Whether its inline code does more than compute and print, and write files of the folder."""
    name = language_of(invocation)
    if name in words("interpreters", "awks"):
        return any(awk_acts(program) for program in awk_programs(invocation))
    if name in words("interpreters", "seds"):
        return any(sed_acts(script) for script in sed_scripts(invocation))
    if name in words("interpreters", "editors"):
        return editor_acts(name, invocation, context)
    codes = [*_framework_codes(name, invocation)]
    if any(pattern("code", "console_acts").search(code) for _, code in codes):
        return True  # it has a project's database and settings at hand
    if name in words("interpreters", "languages"):
        own = list(inline_codes(invocation))
        codes += [(name, code) for code in own]
        beside = [operand for operand in invocation.operands if operand not in own and "/" in operand]
        if (
            own
            and name not in words("interpreters", "interpreters")
            and names_outside(invocation, context, beside)
        ):
            return True  # it may be loaded
    return any(does_more(language, code, invocation.folder, context) for language, code in codes)


def code_connects(invocation: Invocation) -> bool:
    """Whether its inline code asks another machine, as far as a name or an address in it says so."""
    name = language_of(invocation)
    codes = [code for _, code in _framework_codes(name, invocation)]
    if name in words("interpreters", "languages"):
        codes += [*inline_codes(invocation), *filter(None, (invocation.echoed,))]
        codes += invocation.arguments if codes else ()  # modules, such as `-MHTTP::Tiny`
    connects, opens = pattern("code", "connects"), pattern("code", "opens_connection")
    return any(connects.search(code) or opens.search(code) for code in codes)


def language_of(invocation: Invocation) -> str:
    """The name by which the tables know an interpreter."""
    name = invocation.name.lower()
    return name if name in words("interpreters", "languages") else without_version(name)


def _framework_codes(name: str, invocation: Invocation) -> Iterator[tuple[str, str]]:
    """The code that the console of a framework runs, with its language: arguments and input."""
    language = next(
        (
            console["language"]
            for console in load("code")["console"]
            if name in console["programs"].split()
            and re.fullmatch(console["verbs"], " ".join(invocation.operands[:2]))
        ),
        None,
    )
    if language:
        texts = (_SETTING.sub("", text) for text in invocation.arguments[1:] if not _OPTION.fullmatch(text))
        yield from ((language, text) for text in (*texts, invocation.input, invocation.echoed) if text)


_OPTION = re.compile(r"--?[\w-]{1,40}")
_SETTING = re.compile(r"^--?[\w-]{1,40}=")


@cache
def _options_of(name: str) -> frozenset[str]:
    """The options of a program whose value is code."""
    tables = load("code")["code_options"].items()
    return frozenset(
        option for names, options in tables if name in names.split() for option in options.split()
    )


def inline_codes(invocation: Invocation) -> Iterator[str]:
    """The code in arguments and, if the program is read from there, in the input of an interpreter."""
    arguments = invocation.arguments
    options = _options_of(language_of(invocation))
    found = False
    for index, argument in enumerate(arguments):
        following = next(iter(arguments[index + 1 :]), "")
        if argument in options or _CODE_OPTION.fullmatch(argument) or argument == "eval":
            found = True
            yield following
        elif joined := _JOINED.fullmatch(argument):
            found = True
            yield joined["code"]
        elif re.match(r"-[ceEr][^-]", argument):
            found = True
            yield argument[2:]
        elif argument == "-m" and following in words("interpreters", "code_modules"):
            yield " ".join(arguments[index + 2 :])
            return
        elif argument[:1] in "([" and argument[1:] and not index:
            yield argument  # as in `bb '(+ 1 2)'`
            return
        elif index == 0 and argument in ("e", "repl"):
            continue  # as in `nim e --eval:…`
        elif not argument.startswith("-") and not _is_value(arguments[:index][-1:], options):
            break  # a script, and then its own arguments
    if not found and not any(map(_SCRIPT.fullmatch, arguments[:2])):
        yield from filter(None, (invocation.input,))
        if set(invocation.operands) <= words("interpreters", "standard_input"):
            yield from filter(None, (invocation.echoed.replace("\\n", "\n"),))


def _is_value(before: tuple[str, ...], options: frozenset[str]) -> bool:
    option = "".join(before)
    return (
        _VALUED_OPTION.fullmatch(option) is not None
        or _CODE_OPTION.fullmatch(option) is not None
        or option in options
    )


CHECKS = (code_acts,)
