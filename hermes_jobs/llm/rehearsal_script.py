"""The rehearsal model's texts, and the patterns that select them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from hermes_jobs.llm import git_week
from hermes_jobs.text.patterns import compile_later

HELLO = """\
Hello! No language model is connected: I answer from a small script. \
Ask "What happened in this folder this week?", or say "help"."""
HELP = """\
I am a stand-in for a language model, and know a few lines by heart. Try:

- "What happened in this folder this week?": asks git, and draws what it says
- "look around": runs two tools at the same time and answers from what they give
- "run `uname -a`": runs the command between the backticks
- "read notes.txt", "write Buy milk to notes.txt": works with a file
- "remember that I like tea": writes to the memory
- "list skills", "search for tea": looks into skills and earlier conversations

Everything around me is real: sessions, tools, memory, reviews, schedules, and the log that keeps them.
`hermes-jobs setup` connects a real model: a provider with a key, or a model on this machine."""
NO_TOOL = "I would use the tool `{tool}` for that, but this request does not offer it."
NOTHING_TO_SAVE = "Nothing to save."
ECHO = """\
You said: "{text}". No language model is connected, so that is all I can say about it. \
"help" shows what I know, `hermes-jobs setup` connects a model."""
SILENCE = 'You said nothing. "help" shows what I can do.'

SUMMARY = """\
## Active Task
The newest message of the user, as it stands after this summary.

## Goal
None noted.

## Completed Actions
None noted: a rehearsal cannot read what it summarises.

## Critical Context
The whole conversation before this point stays in the log, and can be searched."""

Call = tuple[str, dict[str, Any]]

NEWEST_FILES = "ls -t | head -8"
_MOST_LINES = 20
_READ = 2000  # characters of a text that are searched
_REVIEW_TOOLS = frozenset({"memory", "skill_manage", "skills_list", "skill_view"})
_REMEMBER = compile_later(r"\A\s*+remember that\s++(?P<what>.+[^?\s])\s*+\Z", re.IGNORECASE | re.DOTALL)
"""A statement; a question that begins like this is excluded."""
_ABOUT_THE_USER = compile_later(r"\b(?:i|my|me|i'm)\b", re.IGNORECASE)


class ScriptedResponse(msgspec.Struct, frozen=True):
    """A text, and the calls to make with it."""

    text: str
    calls: tuple[Call, ...] = ()


Tools = AbstractSet[str]
Speaker = Callable[[re.Match[str], Tools], ScriptedResponse]


def response(text: str, tools: Tools, earlier: Sequence[str]) -> ScriptedResponse:
    """The response to a user's text with these tools; `earlier` texts are for reviews."""
    if not tools and "active task" in text.lower():
        return ScriptedResponse(SUMMARY)
    if tools and tools <= _REVIEW_TOOLS and re.search(r"nothing to save|compressed", text, re.IGNORECASE):
        return _reviewed(tools, earlier)
    if not text:
        return ScriptedResponse(SILENCE)
    matches = ((pattern.search(text[:_READ]), speaker) for pattern, speaker in _TABLE)
    matched = next(((match, speaker) for match, speaker in matches if match), None)
    if matched is None:
        return ScriptedResponse(ECHO.format(text=text if len(text) <= 200 else text[:199] + "…"))
    match, speaker = matched
    return speaker(match, tools)


def with_results(results: Sequence[tuple[str, str]]) -> str:
    """The answer after tool results: a week of git as a chart, else each one's name and first lines."""
    for _, content in results:
        if not git_week.is_output(content):
            continue
        if text := git_week.week_summary(content):
            return text
        rest = "\n".join(_first_lines(other) for _, other in results if other != content)
        return f"Git knows of nothing that happened here. The newest files:\n\n```\n{rest}\n```"
    results_text = "\n\n".join(f"`{name}`:\n```\n{_first_lines(content)}\n```" for name, content in results)
    count = "what came back" if len(results) == 1 else f"what the {len(results)} calls gave"
    return f"This is {count}.\n\n{results_text}"


def _reviewed(tools: Tools, earlier: Sequence[str]) -> ScriptedResponse:
    wishes = [found for text in earlier if (found := _REMEMBER.search(text))]
    if not wishes or "memory" not in tools:
        return ScriptedResponse(NOTHING_TO_SAVE)
    return _remember(wishes[-1], tools)


def _first_lines(content: str) -> str:
    all_lines = content.strip().splitlines() or ["(nothing)"]
    more = [f"… {len(all_lines) - _MOST_LINES} more lines"] if len(all_lines) > _MOST_LINES else []
    return "\n".join([*all_lines[:_MOST_LINES], *more])


def _says(text: str) -> Speaker:
    return lambda match, tools: ScriptedResponse(text)


def _calls(say: str, *wanted: Call) -> Speaker:
    """Calls the listed tools that the request offers; `{…}` in arguments are groups of the match."""

    def speak(match: re.Match[str], tools: Tools) -> ScriptedResponse:
        groups = {name: value.strip() for name, value in match.groupdict(default="").items()}
        calls = tuple(
            (name, {key: value.format(**groups) for key, value in arguments.items()})
            for name, arguments in wanted
            if name in tools
        )
        return ScriptedResponse(say, calls) if calls else ScriptedResponse(NO_TOOL.format(tool=wanted[0][0]))

    return speak


def _remember(match: re.Match[str], tools: Tools) -> ScriptedResponse:
    if "memory" not in tools:
        return ScriptedResponse(NO_TOOL.format(tool="memory"))
    what = match["what"].strip()
    target = "user" if _ABOUT_THE_USER.search(what) else "memory"
    return ScriptedResponse(
        "I write that down.", (("memory", {"action": "add", "target": target, "content": what}),)
    )


def _show_tools(match: re.Match[str], tools: Tools) -> ScriptedResponse:
    looked = _calls("These are at hand; I try two of them at the same time.", *_LOOK_AROUND)(match, tools)
    if looked.calls or not tools:
        return looked
    return ScriptedResponse(
        "These tools are at hand: " + ", ".join(f"`{name}`" for name in sorted(tools)) + "."
    )


_LOOK_AROUND: tuple[Call, ...] = (("terminal", {"command": "ls"}), ("session_search", {}))


def _pattern(words: str) -> re.Pattern[str]:
    return compile_later(words, re.IGNORECASE | re.DOTALL)


_TABLE: tuple[tuple[re.Pattern[str], Speaker], ...] = (
    (_REMEMBER, _remember),
    (
        _pattern(r"\b(?:happened|changed|new)\b.*\b(?:folder|repo|repository|project|here|week)\b"),
        _calls(
            "I ask git.", ("terminal", {"command": git_week.COMMAND}), ("terminal", {"command": NEWEST_FILES})
        ),
    ),
    (_pattern(r"\brun\s+`(?P<command>[^`]+)`"), _calls("I run it.", ("terminal", {"command": "{command}"}))),
    (
        _pattern(r"\bwrite\s+(?P<content>.+?)\s+(?:to|into)\s+`?(?P<path>[\w./~-]+\w)`?"),
        _calls("I write it.", ("write_file", {"path": "{path}", "content": "{content}\n"})),
    ),
    (
        _pattern(r"\bread\s+(?:the\s+)?(?:file\s+)?`?(?P<path>[\w/~-]*[./][\w./~-]*\w)`?"),
        _calls("I read it.", ("read_file", {"path": "{path}"})),
    ),
    (_pattern(r"\b(?:show|list|try|use)\b.{0,20}\btools?\b|\bwhat tools\b"), _show_tools),
    (
        _pattern(
            r"\blook around\b|\b(?:list|show)\b.{0,20}\bfiles?\b|\bwhat(?:'s| is) here\b"
            r"|\bwhere are (?:we|you)\b"
        ),
        _calls("I look around, with two tools at the same time.", *_LOOK_AROUND),
    ),
    (_pattern(r"\bskills?\b"), _calls("I look at the skills.", ("skills_list", {}))),
    (
        _pattern(r"\bsearch(?:\s+for)?\s+(?P<query>.+)"),
        _calls("I search the earlier conversations.", ("session_search", {"query": "{query}"})),
    ),
    (_pattern(r"^\s*/?help\b|\bwhat can you do\b|\bwho are you\b|\bwhat are you\b|^\s*\?+\s*$"), _says(HELP)),
    (_pattern(r"^\s*(?:hi|hello|hey|good (?:morning|day|evening))\b"), _says(HELLO)),
    (_pattern(r"\b(?:thanks|thank you)\b"), _says("You are welcome.")),
    (_pattern(r"^\s*(?:bye|goodbye|good night)\b"), _says("Goodbye. The log keeps all of this.")),
)
