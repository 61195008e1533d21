"""A pattern that is compiled when it is first used is the one that `re.compile` returns."""

from __future__ import annotations

import re

import pytest

from hermes_jobs.text.patterns import compile_later


def test_it_finds_what_the_compiled_pattern_finds() -> None:
    later, now = compile_later(r"(?P<word>[a-z]+)!", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)!", re.I)

    assert [match["word"] for match in later.finditer("Hello! you!")] == ["Hello", "you"]
    assert later.sub("-", "Hello!") == now.sub("-", "Hello!")
    assert (later.pattern, later.flags, later.groups) == (now.pattern, now.flags, now.groups)


def test_an_error_in_it_shows_at_the_first_use() -> None:
    wrong = compile_later("(")

    with pytest.raises(re.error):
        wrong.search("text")
