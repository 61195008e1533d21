"""Programs that others run without a table that says so: those named among their words.

A wrapper that no table lists, or with options that its table does not know, still has the inner program's
name and arguments behind its own. What is found here is judged besides the outer program, never instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words
from hermes_jobs.tools.wrappers import wrapped, wrappers

_VERSION = "0123456789."


@cache
def listed_programs() -> frozenset[str]:
    """Every program that a table knows."""
    tables = (
        ("reading", "programs"),
        ("known", "programs"),
        ("secrets", "run_no_others"),
        ("known", "builtins"),
    )
    found = {word for file, table in tables for word in words(file, table)}
    found |= words("interpreters", "languages") | words("services", "controllers") | wrappers().keys()
    return frozenset(found | _programs_of_rules())


@cache
def _programs_of_rules() -> frozenset[str]:
    found = set()
    for entry in load("known")["rule_files"]:
        for rule in load(entry).get("rule", ()):
            keys = [key for field in rule for key in (rule[field] if field.endswith("_of") else ())]
            found |= {name for text in (rule.get("programs", ""), *keys) for name in text.split()}
    return frozenset(found)


def has_no_rule(name: str) -> bool:
    """Whether a table knows the program, but no rule is for it."""
    names = {name, name.rstrip(_VERSION)}
    return not names.isdisjoint(words("known", "programs")) and names.isdisjoint(_programs_of_rules())


def is_listed(name: str) -> bool:
    """Whether a table knows the program, also with a version at its end."""
    return name in listed_programs() or (name.rstrip(_VERSION) or name) in listed_programs()


def carried(name: str, program: str, arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The words of the program that stands among the arguments of another one; empty if there is none.

    Any of `carried` counts for a program that no table lists and for a wrapper whose own words are not
    understood; for others what stands behind `--`.
    """
    if "/" in program or _keeps_words(name):
        return ()
    wrapper = wrappers().get(name)
    if wrapper is None and not is_listed(name):
        return _from_program(arguments)
    if wrapper is not None and (
        not wrapper.verbs or arguments[:1] in [(verb,) for verb in wrapper.verbs.split()]
    ):
        inner = next((words_of_it[0] for words_of_it in wrapped(name, arguments) if words_of_it), "")
        understood = "/" in inner or UNKNOWN in inner or is_listed(inner)
        return () if understood else _from_program(arguments)
    return _from_program(arguments[arguments.index("--") + 1 :], first=True) if "--" in arguments else ()


def carried_texts(name: str, program: str, arguments: tuple[str, ...]) -> Iterator[str]:
    """The texts among a program's arguments that it likely gives to a shell."""
    if "/" in program or _keeps_words(name):
        return
    texts = [
        following if word[:1] == "-" and "=" not in word else word.partition("=")[2]
        for word, following in pairwise((*arguments, ""))
        if pattern("wrappers", "command_options").match(word)
    ]
    if not is_listed(name):
        before = pairwise(("", *arguments))
        texts += [word for option, word in before if not pattern("wrappers", "text_options").match(option)]
    yield from (text for text in dict.fromkeys(texts) if _begins_with_program(text))


def _keeps_words(name: str) -> bool:
    """Whether words of the program are never another program's: it reads, prints, searches or evaluates."""
    return (
        not name
        or UNKNOWN in name
        or name in words("wrappers", "keep_words")
        or name in words("reading", "programs")
        or name in words("known", "builtins")
        or (name.rstrip(_VERSION) or name) in words("interpreters", "languages")
    )


def _from_program(arguments: tuple[str, ...], *, first: bool = False) -> tuple[str, ...]:
    """The words from the first carried program on, if arguments follow it."""
    for index, word in enumerate(arguments[:1] if first else arguments):
        if word.rpartition("/")[2] in words("wrappers", "carried"):
            return arguments[index:] if len(arguments) > index + 1 else ()
    return ()


def _begins_with_program(text: str) -> bool:
    start = re.match(r"\s*([\w./-]{1,200})\s", text)
    return start is not None and start[1].rpartition("/")[2] in words("wrappers", "carried")
