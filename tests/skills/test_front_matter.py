"""SKILL.md as others write it: what is forgiven, and what is not."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.front_matter import platform_name, read


def skill(front: str, body: str = "Do it.\n") -> str:
    return f"---\n{front}\n---\n{body}"


def test_the_standards_fields_are_read():
    said = read(
        skill("name: pdf\ndescription: |\n  Read PDFs.\n  Fill forms.\nlicense: MIT", "\n# PDF\n\nRead.\n")
    )
    assert (said.name, said.description, said.body) == ("pdf", "Read PDFs. Fill forms.", "# PDF\n\nRead.")
    assert said.fields["license"] == "MIT"


OWN = ("1.10", ("linux", "macos"), ("a", "b"), ("terminal",))
BLOCK = """\
metadata:
  hermes:
    version: 1.10
    platforms:
    - linux
    - macos
    tags:
      - a
      - b
    requires_toolsets:
    - terminal"""
INLINE = """\
metadata:
  hermes: {version: 1.10, platforms: [linux, macos], tags: [a, b], requires_toolsets: [terminal]}"""
TOP_LEVEL = """\
version: 1.10
platforms: [Linux, darwin]
tags: a, b
requires_toolsets: terminal"""
IN_METADATA = """\
metadata:
  version: '1.10'
  platforms: [linux, osx]
  tags: [a, b]
  requires_toolsets: [terminal]"""
OWN_FIRST = f"version: 9\nplatforms: [windows]\n{BLOCK}"


@pytest.mark.parametrize(
    "front",
    [BLOCK, INLINE, TOP_LEVEL, IN_METADATA, OWN_FIRST],
    ids=["block", "inline", "top-level", "metadata", "own-first"],
)
def test_extension_fields_are_read_at_every_place(front):
    said = read(skill(f"name: x\ndescription: y\n{front}"))
    assert (said.version, said.platforms, said.tags, said.requires_toolsets) == OWN


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff---\nname: x\ndescription: y\n---\nz",
        "---\r\nname: x\r\ndescription: y\r\n---\r\nz",
        "\n\n---  \nname: x\ndescription: y\n--- \nz",
        "---\nname: x\ndescription: y\nunknown: {a: [b]}\n---\nz",
        "---\ndescription: y\nname: x\nname: x\n---\nz",
    ],
    ids=["byte order mark", "CRLF", "blanks", "unknown fields", "doubles"],
)
def test_odd_forms_are_read_all_the_same(text):
    said = read(text)
    assert (said.name, said.description, said.body) == ("x", "y", "z")


def test_colons_in_a_plain_value_are_forgiven():
    said = read(skill("name: x\ndescription: Use when: it's asked: «PDF»\nlicense: MIT"))
    assert said.description == "Use when: it's asked: «PDF»"
    assert said.fields["license"] == "MIT"
    assert not said.is_plain


@pytest.mark.parametrize(
    ("written", "description"),
    [
        ('"Deploys "foo" apps"', 'Deploys "foo" apps'),
        ("'It's broken'", "It's broken"),
        ('"Use when: asked"', "Use when: asked"),
        ('"Quote" first', 'Quote" first'),
    ],
)
def test_quotes_within_quotes_are_forgiven(written, description):
    said = read(skill(f"name: x\ncompatibility: needs: git\ndescription: {written}"))
    assert said.description == description


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "does not begin with front matter"),
        ("# A skill\n", "does not begin with front matter"),
        ("---\nname: x\ndescription: y\n", "does not begin with front matter"),
        (skill("name: x"), "no `description`"),
        (skill("name: x\ndescription: ''"), "no `description`"),
        (skill("name: x\ndescription: [a, b]"), "no `description`"),
        (skill("- a\n- b"), "no fields"),
        (skill(""), "no fields"),
        (skill("name: x\n  bad: [1"), "not YAML in line 3"),
        (skill("name: &a x\ndescription: *a"), "aliases"),
        (skill(f"name: x\ndescription: y\na: {'[' * 50}{']' * 50}"), "nests more than"),
        (skill(f"name: x\ndescription: y\na:\n  {'- ' * 30}b"), "nests more than"),
        (skill("name: x\ndescription: y\n? [a]\n: b"), "not YAML"),
    ],
)
def test_invalid_front_matter_is_refused_with_the_reason(text, complaint):
    with pytest.raises(Rejected) as refused:
        read(text)
    assert complaint in refused.value.message
    assert refused.value.hint


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"%@`#, \n\t\\0"), max_size=60))
def test_any_front_matter_is_read_or_refused(front):
    with suppress(Rejected):
        read(skill(f"{front}\nname: x\ndescription: y"))


def test_platforms_have_one_name_each():
    assert [platform_name(each) for each in ("darwin", "win32", "linux", "freebsd14")] == [
        "macos",
        "windows",
        "linux",
        "freebsd14",
    ]
