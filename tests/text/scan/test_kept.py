"""What is kept between processes finds what the tables find."""

from __future__ import annotations

import re
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from hermes_jobs.system.bytecode_file import BytecodeFile
from hermes_jobs.text.scan import kept
from hermes_jobs.text.scan.derived import alternatives, derived, needs
from hermes_jobs.text.scan.kept import codes
from hermes_jobs.text.scan.lexicon import read_lexicon
from hermes_jobs.text.scan.matcher import lower, search
from hermes_jobs.text.scan.rules import SCAN_FILES, Branch, ScanRule, ScanRules, read_rules
from hermes_jobs.text.scan.starts import gaps, starts
from hermes_jobs.text.scan.words import BLOCK

HERE = Path(__file__).parent
BLANKS = [chr(code) for code in range(0x3001) if chr(code).isspace()]


@pytest.mark.slow
def test_the_code_of_every_pattern_is_that_of_re(monkeypatch: pytest.MonkeyPatch) -> None:
    _, patterns = derived()
    of_patterns = codes(patterns)
    monkeypatch.setattr(kept, "_kept", lambda: ({}, of_patterns))
    assert all(kept.compiled.__wrapped__(*key) == re.compile(*key) for key in patterns)


@pytest.mark.slow
def test_rules_in_branches_find_what_whole_patterns_find() -> None:
    tables, _ = derived()
    whole = ScanRules(tuple(rule for name in SCAN_FILES for rule in read_rules(name)))
    in_branches = ScanRules(tuple(_rule(row) for name in SCAN_FILES for row in tables[name]))  # type: ignore[attr-defined]
    for line in (HERE / "tricks.txt").read_text("utf-8").splitlines():
        text = line.partition("\t")[2]
        found, other = (
            {(match.rule.name, match.start, match.end) for match in search(text, rules).matches}
            for rules in (whole, in_branches)
        )
        assert found == other


def _rule(row: tuple[Any, ...]) -> ScanRule:
    *fields, branches = row
    values = (*fields, tuple(map(Branch._make, branches)))
    return ScanRule(**dict(zip(ScanRule.__struct_fields__, values, strict=True)))


@pytest.mark.slow
def test_the_lexicon_is_kept_as_it_is_read() -> None:
    tables, _ = derived()
    kept_lexicon: Any = tables["lexicon"]
    assert kept_lexicon[0] == read_lexicon().words


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        (r"\b(?:send|post)\s+(?:the\s+)?keys?\b", (("post", "send"), ("key", "keys"))),
        (r"(?:ab)?cd", (("abcd", "cd"),)),
        (r"(?:ab|cd.ef|[xy]z)g", (("ab", "cd", "xz", "yz"),)),
        (r"(?:ab|.)cd", (("cd",),)),
        (r"a.b", ()),
    ],
)
def test_every_match_needs_a_word_of_each_group(pattern: str, groups: tuple[tuple[str, ...], ...]) -> None:
    assert needs(_parser.parse(pattern)) == groups


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\b(?:send|post)\s+(?:the\s+)?keys?\b", ("post", "send")),
        (r"(?:please\s+)?e-?mail", ("e-mail", "email", "please")),
        (r"(?:sen|send|bcc)\b", ("bcc", "sen", "send")),
        (r"(?:sen\w*|send|bcc)\b", ("bcc", "sen")),
        (r"(?<!\w)(?:a\s+rule|[!?]x)", (*(f"a{blank}" for blank in BLANKS), "!x", "?x")),
        (r"send[^.]{0,5}now|https?://x", ("http://x", "https://x", "send")),
        (r"\w+@x", ()),
        (r"x?|[ab]c", ()),
    ],
)
def test_every_match_begins_with_one_of_the_words(pattern: str, words: tuple[str, ...]) -> None:
    assert set(starts(_parser.parse(pattern))) == set(words)


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        (r"a[^.]{0,60}?b", 60),
        (r"a(?:.{1,5}|[^x]{0,9}(?=[^\n]{0,20}b))c", 29),
        (r"\w{1,9}(?>[^.]{2})", 2),
        ("ab", 0),
    ],
)
def test_what_a_try_may_go_through_is_the_sum_of_its_gaps(pattern: str, longest: int) -> None:
    assert gaps(_parser.parse(pattern)) == longest


def test_a_pattern_is_divided_at_its_top_alone() -> None:
    assert alternatives(r"a(b|c)[|)]\|d | e|") == [r"a(b|c)[|)]\|d ", " e", ""]


def test_the_blocks_of_a_group_are_those_near_its_words() -> None:
    rules = ScanRules(read_rules("intents"))
    text = lower((HERE / "everyday.txt").read_text("utf-8"))
    found = rules.words.found(text).groups
    for tried in rules.tried:
        for group, words in zip(tried.groups, filter(None, (tried.rule.near, tried.rule.also)), strict=False):
            places = (
                match.start() // BLOCK for word in set(words) for match in re.finditer(re.escape(word), text)
            )
            assert all(found[group] >> place & 1 for place in places)


def test_a_file_that_cannot_be_written_is_none(tmp_path: Path) -> None:
    there = BytecodeFile(tmp_path, "scan")
    assert there.read() == b""
    there.write(b"x")
    assert there.read() == b"x"
    (tmp_path / "file").write_text("")
    nowhere = BytecodeFile(tmp_path / "file", "scan")
    nowhere.write(b"x")
    assert not nowhere.read()
