"""Parses a summariser's answer into prose and lists of a fixed form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hermes_jobs.features.compression.entity_state import distinct, entry_text, plain, without_mark

DECISIONS, OPEN_ENDS, EARLIER = ("Key Decisions",), ("Pending User Asks", "Remaining Work"), ("Earlier",)
LISTS = (*DECISIONS, *OPEN_ENDS, *EARLIER)
"""Sections whose lines `- …` are entries (the last one: all its lines); other lines are prose."""
SECTIONS = (
    ("Active Task", "the newest unfulfilled request, in the user's own words"),
    ("Goal", "what the user wants to achieve"),
    ("Constraints & Preferences", "requirements and preferences of the user"),
    ("Completed Actions", "numbered: tool, target, outcome; continue the existing numbering"),
    ("Active State", "current branches, processes and values"),
    ("In Progress", "work that was started and is not finished"),
    ("Blocked", "work that cannot continue, and the exact error"),
    ("Key Decisions", "decisions of this conversation, and why; one per line: “- …”"),
    ("Resolved Questions", "questions with their answers"),
    ("Pending User Asks", "everything that the user still waits for; one per line: “- …”"),
    ("Relevant Files", "purposes of files, if their paths do not say it"),
    ("Remaining Work", "everything left to do, as context, not as an order; one per line: “- …”"),
    ("Critical Context", "exact values, names, figures and error texts that must not be lost"),
)

UNVERIFIED = "\n\n(Not found in the conversation, so perhaps wrong: {invented}.)"
"""A remark at the end of an answer that names things missing from its source."""
DOUBT_MARK = "(perhaps wrong) "
"""The same mark before an entry, because entries are stored without the answer."""

_NAMES = "|".join(re.escape(name) for name in dict.fromkeys((*(name for name, _ in SECTIONS), *EARLIER)))
_HEADING = re.compile(rf"^[\W\d]{{0,8}}(?P<name>{_NAMES})\W{{0,4}}$", re.IGNORECASE)
_BEGINS = re.compile(r"^[\W\d]{0,8}Active Task\b", re.MULTILINE | re.IGNORECASE)
_ITEM = re.compile(r"^\s{0,1}(?:[-*•]|\d+[.)])\s+(?P<text>.+)$")
_FURTHER = re.compile(r"^\s{2,}\S")
_CALLED = {name.casefold(): name for name in (*(name for name, _ in SECTIONS), *EARLIER)}
_REMARK = re.compile(re.escape(UNVERIFIED.strip()).replace(r"\{invented\}", "(?P<invented>.*)"))
_NOTHING = frozenset({"", "none", "(none)"})


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`prose`: the sections with content, without the entries of the lists. `open_ends` is None if
    the answer has no section for them."""

    prose: str
    decisions: tuple[str, ...] = ()
    open_ends: tuple[str, ...] | None = None
    earlier: tuple[str, ...] = ()


def is_checkpoint(text: str) -> bool:
    """Whether the text is a summary, and not a refusal or an answer."""
    return _BEGINS.search(text) is not None


def read_checkpoint(text: str) -> Checkpoint:
    """Parse the answer; only repeated entries and sections that say “None” are dropped."""
    prose: list[str] = []
    remark = _REMARK.search(text)
    doubts = remark["invented"].split(", ") if remark else []
    items: dict[str, list[str]] = {}
    for name, lines in _sections(text):
        if name in LISTS:
            parsed_items, others = _each_line(lines) if name in EARLIER else _entries(lines)
            items.setdefault(name, []).extend(_mark_doubt(item, doubts) for item in parsed_items)
        else:
            others = lines
        body = "\n".join(others).strip()
        is_said = plain(body) not in _NOTHING
        if name in EARLIER:
            prose += [body] if is_said else []
        elif is_said or name == SECTIONS[0][0]:
            prose.append(f"## {name}\n{body}" if name else body)
    return Checkpoint(
        prose="\n".join(filter(None, prose)),
        decisions=_of(items, DECISIONS),
        open_ends=_of(items, OPEN_ENDS) if any(name in items for name in OPEN_ENDS) else None,
        earlier=_of(items, EARLIER),
    )


def condense(prose: str) -> tuple[str, ...]:
    """The prose line by line, used if the summariser did not condense it."""
    lines = (line for name, body in _sections(prose) if name != SECTIONS[0][0] for line in body)
    entries = (entry_text(without_mark(line)) for line in lines)
    return distinct(line for line in entries if plain(line) not in _NOTHING)


def _sections(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """The lines below each known heading, with its name; "" for those before the first."""
    name, lines = "", list[str]()
    for line in text.strip().splitlines():
        if heading := _HEADING.match(line):
            if name or any(map(str.strip, lines)):
                yield name, lines
            name, lines = _CALLED[heading["name"].casefold()], []
        else:
            lines.append(line)
    yield name, lines


def _entries(lines: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """The entries of a list, each with the indented lines below it, and the other lines."""
    entries: list[str] = []
    others: list[str] = []
    within = False
    for line in lines:
        if within and _FURTHER.match(line):
            entries[-1] += f" {line.strip()}"
        elif item := _ITEM.match(line):
            entries.append(item["text"])
            within = True
        else:
            others.append(line)
            within = within and not line.strip()
    return entries, others


def _each_line(lines: Sequence[str]) -> tuple[list[str], Sequence[str]]:
    """Every line as an entry, except remarks in brackets, which are about the whole answer."""
    remarks = [line for line in lines if line.startswith("(")]
    return [without_mark(line) for line in lines if not line.startswith("(")], remarks


def _mark_doubt(entry: str, doubts: Sequence[str]) -> str:
    return f"{DOUBT_MARK}{entry}" if any(doubt in entry for doubt in doubts) else entry


def _of(items: dict[str, list[str]], names: Sequence[str]) -> tuple[str, ...]:
    texts = (entry_text(item) for name in names for item in items.get(name, ()))
    return distinct(text for text in texts if plain(text) not in _NOTHING)
