from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.engine.ports import Reply
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.llm import git_week
from hermes_jobs.llm.rehearsal import REHEARSAL, RehearsalModel, rehearse
from tests.llm.asking import ask, request

TOOLS = ("terminal", "read_file", "write_file", "memory", "skills_list", "session_search")


def calls(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.tool_calls]


@pytest.mark.parametrize("text", ["Hello", "help", "What can you do?", "Xyzzy 42"])
def test_it_explains_itself_for_other_requests(text: str) -> None:
    reply = rehearse(request(text))
    assert "language model" in reply.content
    assert reply.model == REHEARSAL


@pytest.mark.parametrize("text", ["thanks", "bye", ""])
def test_its_notice_is_not_repeated_below_every_answer(text: str) -> None:
    assert "hermes-jobs setup" not in rehearse(request(text)).content


WEEK = """\
2026-11-24
newest: Log: an append names its version
      1 2026-11-23 22 Bob
"""


def test_a_question_about_the_week_is_answered_from_git() -> None:
    question = request("What happened in this folder this week?", tools=TOOLS)
    first = rehearse(question)
    assert [arguments["command"] for _, arguments in calls(first)] == [git_week.COMMAND, "ls -t | head -8"]
    results = (ToolMessage("a", "terminal", WEEK), ToolMessage("b", "terminal", "notes.txt"))
    answer = rehearse(
        request(*question.messages, AssistantMessage("", first.tool_calls), *results, tools=TOOLS)
    ).content
    assert answer == git_week.week_summary(WEEK)


def test_a_folder_without_git_is_described_by_its_newest_files() -> None:
    results = (
        ToolMessage("a", "terminal", "2026-11-24\nfatal: not a git repository\n[exit code 128]"),
        ToolMessage("b", "terminal", "notes.txt\nplan.txt"),
    )
    answer = rehearse(request("What's new here?", AssistantMessage(""), *results, tools=TOOLS)).content
    assert "notes.txt\nplan.txt" in answer
    assert "fatal" not in answer


@pytest.mark.parametrize("text", ["Look around, please", "list the files here", "Show me your tools"])
def test_looking_around_makes_two_calls_at_once(text: str) -> None:
    reply = rehearse(request(text, tools=TOOLS))
    assert calls(reply) == [("terminal", {"command": "ls"}), ("session_search", {})]
    assert len({call.id for call in reply.tool_calls}) == 2
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("run `ls -la /tmp`", ("terminal", {"command": "ls -la /tmp"})),
        ("Please read the README.md", ("read_file", {"path": "README.md"})),
        ("write {x: 1} to notes/a.txt", ("write_file", {"path": "notes/a.txt", "content": "{x: 1}\n"})),
        (
            "Remember that I like tea",
            ("memory", {"action": "add", "target": "user", "content": "I like tea"}),
        ),
        (
            "remember that builds use make",
            ("memory", {"action": "add", "target": "memory", "content": "builds use make"}),
        ),
        ("list skills", ("skills_list", {})),
        ("search for green tea", ("session_search", {"query": "green tea"})),
    ],
)
def test_other_words_make_other_calls(text: str, call: tuple[str, dict[str, Any]]) -> None:
    assert calls(rehearse(request(text, tools=TOOLS))) == [call]


@given(
    st.text(max_size=60) | st.sampled_from(["look around", "remember x", "run `ls`", "read a.txt"]),
    st.sets(st.sampled_from(TOOLS)),
)
def test_only_tools_that_are_offered_are_called(text: str, tools: set[str]) -> None:
    reply = rehearse(request(text, tools=tuple(sorted(tools))))
    assert {name for name, _ in calls(reply)} <= tools
    assert reply == rehearse(request(text, tools=tuple(sorted(tools))))


def test_results_are_used_in_the_answer() -> None:
    asked = request("look around", tools=TOOLS)
    first = rehearse(asked)
    results = [ToolMessage(call.id, call.name, f"result {at}") for at, call in enumerate(first.tool_calls)]
    answer = rehearse(
        request(*asked.messages, AssistantMessage(first.content, first.tool_calls), *results, tools=TOOLS)
    )
    assert not answer.tool_calls
    assert "result 0" in answer.content
    assert "result 1" in answer.content


def test_a_last_answer_without_tools_has_the_results() -> None:
    history: list[Message] = [
        UserMessage("look around"),
        AssistantMessage("", ()),
        ToolMessage("a", "terminal", "b.txt"),
    ]
    assert "b.txt" in rehearse(request(*history, "Answer now from what you have.")).content


def test_long_results_are_cut() -> None:
    long = ToolMessage("a", "terminal", "\n".join(map(str, range(100))))
    assert "… 80 more lines" in rehearse(request("look around", long, tools=TOOLS)).content


@pytest.mark.parametrize(
    "text",
    [
        "What do you remember about me?",
        "Do you remember that I like tea?",
        "Remember that I like tea?",
        "I remember that day.",
        "Take note of the time.",
        "remember: builds use make",
        "remember that",
    ],
)
def test_nothing_but_a_statement_that_begins_so_is_written_to_the_memory(text: str) -> None:
    assert not [name for name, _ in calls(rehearse(request(text, tools=TOOLS))) if name == "memory"]


def test_a_review_saves_a_requested_fact_once() -> None:
    review = "Review the conversation. If there is nothing to save, say so: nothing to save."
    tools = ("memory", "skills_list")
    reply = rehearse(request("remember that I like tea", AssistantMessage("Yes."), review, tools=tools))
    assert calls(reply) == [("memory", {"action": "add", "target": "user", "content": "I like tea"})]
    saved = AssistantMessage("", reply.tool_calls)
    again = rehearse(
        request(
            "remember that I like tea",
            saved,
            ToolMessage("a", "memory", "ok"),
            AssistantMessage("Yes."),
            review,
            tools=tools,
        )
    )
    assert again.content.startswith("Nothing to save.")


def test_a_summary_has_the_sections_of_a_summary() -> None:
    assert "## Active Task" in rehearse(request("Summarise. Sections: Active Task, Goal, …")).content


def test_recalled_memories_are_not_taken_for_the_users_words() -> None:
    text = "Hello <memory-context>look around</memory-context>"
    assert not rehearse(request(text, tools=TOOLS)).tool_calls


def test_usage_is_estimated_and_grows_with_the_request() -> None:
    small, large = ask(RehearsalModel(), "x").usage, ask(RehearsalModel(), "x" * 4000).usage
    assert 0 < small.input_tokens < large.input_tokens
    assert small.output_tokens > 0
