"""SKILL.md as we write it passes the reference validator, whatever it was made of."""

from __future__ import annotations

import string
import tempfile
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import read_properties, validate

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.front_matter import read
from hermes_jobs.features.skills.skill_md import MAX_CHARACTERS, MAX_FILE_BYTES, checked_file, strict
from tests.examples import examples

STRICT = "---\nname: tidy\ndescription: How to tidy up.\n---\n\n# Tidy\n\n1. Tidy.\n"


def problems(text: str, name: str = "tidy") -> list[str]:
    """What the reference validator says of the text as that skill's SKILL.md."""
    with tempfile.TemporaryDirectory() as folder:
        skill = Path(folder) / name
        skill.mkdir()
        (skill / "SKILL.md").write_text(text, encoding="utf-8")
        found: list[str] = validate(skill)
        if not found:
            assert read_properties(skill).description
        return found


@pytest.mark.parametrize(
    "text",
    [
        STRICT,
        STRICT.replace("How", "«How» 😀"),
        "---\nname: tidy\ndescription: >\n  Folded\n  text\nlicense: MIT\ncompatibility: any\n"
        "allowed-tools: a b\nmetadata:\n  author: me\n---\nBody with --- in it\n",
        "---\n# a comment\nname: tidy\ndescription: 'quoted: text'\n---\nBody",
    ],
)
def test_strict_matches_stay_as_they_are(text):
    assert strict(text, "tidy") == text
    assert problems(text) == []


def test_fields_that_the_standard_has_not_are_sorted_in():
    text = """\
---
name: tidy
version: 1.10
description: Use when: asked --- often
platforms: [linux, darwin]
tags: a, b
author: Me
metadata: {short: yes, hermes: {requires_toolsets: [web]}}
license: ''
---
Body
"""
    written = """\
---
name: tidy
description: "Use when: asked -\\x2d- often"
metadata:
  author: Me
  short: 'yes'
  hermes:
    requires_toolsets:
      - web
    version: '1.10'
    platforms:
      - linux
      - macos
    tags:
      - a
      - b
---

Body
"""
    assert strict(text, "tidy") == written
    said = read(strict(text, "tidy"))
    assert said.description == "Use when: asked --- often"
    assert (said.version, said.platforms, said.requires_toolsets) == ("1.10", ("linux", "macos"), ("web",))


ODD = "\ufeff\ufffe\uffff\u2028\u2029\x85"
WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=ODD), max_size=40)
VALUES = st.recursive(
    WORDS | st.sampled_from(["yes", "1.10", "null", "---", "- a", "a: b", "#x", "'", '"', "", " "]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        "version",
        "platforms",
        "tags",
        "requires_toolsets",
        "license",
        "allowed-tools",
        "metadata",
        "author",
        "x y",
    ]
)


@settings(max_examples=examples(40))
@given(
    description=st.text(st.sampled_from(string.printable + "äé«»😀日本-:#"), min_size=1, max_size=80),
    fields=st.dictionaries(KEYS, VALUES, max_size=5),
    body=st.text(max_size=80).filter(lambda text: text.strip()),
    flow=st.sampled_from([True, False, None]),
)
def test_every_write_passes_the_reference_validator(description, fields, body, flow):
    said = {"name": "tidy", "description": description, **fields}
    front = yaml.safe_dump(said, allow_unicode=True, default_flow_style=flow)
    if "\n---" in front:
        return
    try:
        text = strict(f"---\n{front}---\n{body}", "tidy")
    except Rejected:
        return
    if not description.strip() or any(0xD800 <= ord(each) <= 0xDFFF for each in text):
        return
    assert problems(text) == []
    assert strict(text, "tidy") == text
    assert read(text).description == " ".join(description.split())


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        (STRICT, "other", "says `name: tidy`; the skill is called other"),
        (STRICT.replace("name: tidy\n", ""), "tidy", "has no `name`"),
        (STRICT.replace("How to tidy up.", "x" * 1_025), "tidy", "1,025 characters"),
        ("---\nname: tidy\ndescription: x\n---\n  \n", "tidy", "no text below"),
        (STRICT.replace("---\n\n#", f"compatibility: {'x' * 501}\n---\n\n#"), "tidy", "`compatibility`"),
        (STRICT + "x" * MAX_CHARACTERS, "tidy", "at most 100,000"),
        (STRICT + "x" * MAX_CHARACTERS * 3, "tidy", "characters"),
        ("no front matter", "tidy", "does not begin with front matter"),
    ],
)
def test_an_impossible_write_is_refused(text, name, complaint):
    with pytest.raises(Rejected) as refused:
        strict(text, name)
    assert complaint in refused.value.message


def test_a_support_file_has_its_limit():
    assert checked_file("assets/a", "x" * MAX_FILE_BYTES)
    with pytest.raises(Rejected, match="at most 1,048,576"):
        checked_file("assets/a", "ä" * MAX_FILE_BYTES)
