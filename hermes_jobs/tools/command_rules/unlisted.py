"""Checks by effect, for programs that no rule knows, and for options that mean the same everywhere.

A program that no table lists may run as long as its words say that it works on the project: with the address
of another machine, code, a script elsewhere or a verb that installs, sends or deletes it is asked about.
"""

from __future__ import annotations

import re
from itertools import pairwise, takewhile

from hermes_jobs.tools.carried import is_listed
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.network import is_loopback
from hermes_jobs.tools.command_rules.outside_code import is_own_program, names_outside
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import NUMBER, UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_ADDRESS = re.compile(
    r"(?:[\w.-]{1,80}=)?(?!res:|user:)[a-z][a-z0-9+.-]{1,20}://(?:[^/@\s]{0,200}@)?"
    r"(?P<host>\[[^\]]{1,60}\]|[^/:?#\s]{1,300})",
    re.IGNORECASE,
)
_HOST = re.compile(r"[\w.-]{1,200}\.[a-z]{2,20}(?::\d{1,5})?(?:/.*)?", re.IGNORECASE | re.DOTALL)
_CODE_OPTION = re.compile(
    r"-[ceExr]|--?(?:eval|exec|execute|expr|expression|code|command|cmd|run|shell|script|batch)"
)
_RUNNING_OPTIONS = ("--exec", "--execute", "--eval", "--cmd", "--run-command")
_CODE = re.compile(r"[();$|>`{}=\"'!]|\bimport\b")
_SCRIPT = re.compile(
    r".*\.(?:[cm]?[jt]sx?|py[cw]?|sh|bash|zsh|rb|pl|pm|lua|php|tcl|el|lisp|scm|clj|r|jl|exs?|erl|so|dylib|dll|jar"
    r"|wasm)",
    re.IGNORECASE,
)
_MAKING = (("new",), ("create",), ("generate",), ("g",))  # what follows is a thing: `hugo new post`
_THINGS = (("plugin",), ("plugins",), ("extension",), ("post",))
_LOOKING = (("list",), ("ls",), ("status",), ("info",), ("search",), ("get",))
_METHOD = ("-X", "--request", "--method", "--http-method")
_CHANGING = ("POST", "PUT", "PATCH", "DELETE")
_OPTION = re.compile(r"(?P<name>--?[A-Za-z][\w.-]{0,60})(?:[=:](?P<value>.*))?", re.DOTALL)


def is_unlisted(invocation: Invocation, context: CommandContext) -> bool:
    """Whether no table knows the program, and it is not the project's own."""
    name = without_version(invocation.name)
    if not name or UNKNOWN in name or is_listed(invocation.name):
        return False
    if "/" not in invocation.program:
        return True
    path = invocation.path(invocation.program)
    roots = context.paths.real_roots(context.workdir)
    return path is None or not any(is_inside(context.real(path), root) for root in roots)


def does_more_than_work_here(invocation: Invocation, context: CommandContext) -> bool:
    """Whether the words of an unlisted program name another machine, code, a script elsewhere, or a deed."""
    if not is_unlisted(invocation, context) or invocation.arguments in (("--version",), ("--help",), ("-h",)):
        return False
    arguments = invocation.arguments
    if any(names_other_machine(argument) for argument in arguments):
        return True
    verbs = invocation.operands[: 1 if invocation.operands[:1] in _MAKING else 2]
    if invocation.operands[:1] in _THINGS and invocation.operands[1:2] in _LOOKING:
        verbs, arguments = (), arguments[1:]
    named = (*arguments[:1], *verbs, *(verb.partition("-")[0] for verb in verbs if not verb.startswith("-")))
    if not words("known", "deeds").isdisjoint(named):
        return True
    if any(option in _METHOD and value.upper() in _CHANGING for option, value in options_of(arguments)):
        return True
    codes = [value for option, value in options_of(arguments) if _CODE_OPTION.fullmatch(option)]
    if any(UNKNOWN in code or _CODE.search(code) for code in codes) or invocation.has(*_RUNNING_OPTIONS):
        return True
    scripts = [word for word in invocation.operands if _SCRIPT.fullmatch(word)]
    return names_outside(invocation, context, [*scripts, *codes])


def names_other_machine(word: str) -> bool:
    """Whether a word is an address of another machine, alone or behind `name=`."""
    found = _ADDRESS.match(word)
    return found is not None and found["host"] != "" and not is_loopback(found["host"].strip("[]").lower())


def loads_from_outside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether an option that names settings, plugins or a project names one outside the folders."""
    if _takes_paths(invocation, context):
        return False
    options = [
        value
        for option, value in options_of(own_arguments(invocation))
        if value and pattern("known", "loading_options").fullmatch(option)
    ]
    return names_outside(invocation, context, options)


def _takes_paths(invocation: Invocation, context: CommandContext) -> bool:
    """Whether the program runs nothing that its options name: it reads or packs, or is the project's."""
    name = without_version(invocation.name)
    return is_own_program(invocation, context) or name in (
        words("reading", "programs") | words("known", "takes_paths") | words("interpreters", "languages")
    )


def own_arguments(invocation: Invocation) -> tuple[str, ...]:
    """The arguments that are not another program's: up to `--`, and up to what `run` or `exec` starts."""
    arguments = invocation.arguments
    if arguments[:1] in (("run",), ("exec",)):
        return tuple(following for word, following in takewhile(_is_before_operand, pairwise(arguments)))
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _is_before_operand(words_of_it: tuple[str, str]) -> bool:
    """Whether the second of two words is an option, or the value of the option before it."""
    before, word = words_of_it
    return word != "--" and (word.startswith("-") or (before.startswith("-") and "=" not in before))


def options_of(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each option with its value: behind `=`, or the next word; also those in `-o NAME=VALUE`."""
    found = []
    for argument, following in pairwise((*arguments, "")):
        if match := _OPTION.fullmatch(argument):
            value = (
                match["value"] if match["value"] is not None else "" if following[:1] == "-" else following
            )
            found.append((match["name"], value))
            inner = _SETTING.fullmatch(value)
            if match["name"][:2] in _SETTING_LETTERS and len(match["name"]) > 2:
                found.append((f"--{match['name'][2:]}", inner["value"] if inner else value))
            elif inner:
                found.append((f"--{inner['name']}", inner["value"]))
        elif argument[:1] == "@" and len(argument) > 1:
            found.append(("--config", argument[1:]))  # a file of arguments
    return found


_SETTING = re.compile(r"(?P<name>[A-Za-z][\w.-]{0,60})(?::[A-Z]{1,20})?=(?P<value>.*)", re.DOTALL)
_SETTING_LETTERS = ("-D", "-P", "-o", "-O", "-X")
"""Options that a setting may follow without a blank."""


def sends_through(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether an option names another machine to fetch from or to send through: a registry, a proxy."""
    if invocation.name in words("reading", "programs"):
        return False
    return any(
        pattern("known", "source_options").fullmatch(option)
        and (names_other_machine(value) if "source" in option else _names_host(value))
        for option, value in options_of(own_arguments(invocation))
    )


def _names_host(value: str) -> bool:
    return names_other_machine(value) if "://" in value else _HOST.fullmatch(value) is not None


def names_launcher(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether an option names the program that is started to show, edit or send something."""
    return any(
        pattern("known", "launcher_options").fullmatch(option)
        and value not in ("", "never", "auto", "always", "off", "on", "0")
        and pattern("interpreters", "harmless_programs").fullmatch(value) is None
        for option, value in options_of(own_arguments(invocation))
    )


def opens_address(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether it opens the address of another machine."""
    return any(map(names_other_machine, invocation.arguments))


def evaluates_value(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a builtin of the shell evaluates a text: a subscript with a command, an unknown number."""
    name, arguments = invocation.name, invocation.arguments
    assigned = [word.partition("=")[2] for word in _assignments(invocation)]
    if any("$(" in value or "`" in value or value.startswith("() {") for value in assigned):
        return True
    if any(word.startswith("BASH_FUNC_") for word in invocation.words):
        return True
    if name not in words("known", "evaluators"):
        return False
    if any("[" in word and ("$(" in word or "`" in word) for word in arguments):
        return True
    if name == "let" or (name in ("declare", "typeset", "local") and invocation.has("-i")):
        return any(_is_unseen(word) or "$(" in word for word in arguments)
    if name in ("read", "unset", "mapfile", "readarray") and any(
        re.match(rf"\w*\[?{UNKNOWN}", word) and _is_unseen(word) for word in invocation.operands
    ):
        return True
    named = [following for word, following in pairwise(arguments) if word == "-v"]
    return any(_is_unseen(word) or "*" in word or "?" in word for word in named)


def _is_unseen(word: str) -> bool:
    return UNKNOWN in word.replace(NUMBER, "")


def _assignments(invocation: Invocation) -> list[str]:
    words_of_it = list(takewhile(ASSIGNMENT.fullmatch, invocation.words))
    if invocation.name in words("interpreters", "setters"):
        words_of_it += [word for word in invocation.arguments if ASSIGNMENT.fullmatch(word)]
    return words_of_it


CHECKS = (
    does_more_than_work_here,
    loads_from_outside,
    sends_through,
    names_launcher,
    opens_address,
    evaluates_value,
)
