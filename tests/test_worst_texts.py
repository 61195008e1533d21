"""Texts of models, files and servers of the worst shapes, so long that work in their square takes minutes.

Each row ends within the tests' timeout only if its function is linear in the text, or bounds it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.prune import prune
from hermes_jobs.features.compression.summary import hallucinated_references, without_notes
from hermes_jobs.features.mcp.results import text_of
from hermes_jobs.features.memory.rules.writes import nearest
from hermes_jobs.features.replay.cli.experiments.file import read_design
from hermes_jobs.features.titles.steps import title_of
from hermes_jobs.features.web.fetch_process import extract_markdown
from hermes_jobs.interfaces.cli.markdown import blocks, complete_blocks, render
from hermes_jobs.interfaces.cli.output import wrap
from hermes_jobs.kernel.turns.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from hermes_jobs.kernel.turns.tool_results import preview_of
from hermes_jobs.llm.call_markup import FORMATS, read_one
from hermes_jobs.llm.resets import named_reset
from hermes_jobs.settings import yaml_text
from hermes_jobs.text.diff import file_diff
from hermes_jobs.text.json_objects import json_objects
from hermes_jobs.text.marks import without_marks
from hermes_jobs.text.search.query import parse
from hermes_jobs.text.search.question import question
from hermes_jobs.text.three_way_merge import is_conflict, merge
from hermes_jobs.tools.folder_guard import changes_settings
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from schedules import phrases
from tests.tables import each_row
from tests.tools.support import context_in

LONG = 1_000_000
COMMAND = 90_000


def _judge(command: str) -> None:
    CommandPolicy(paths=PathPolicy(home="/h", user_home="/u")).verdict(command, context_in("/w"))


@each_row(
    [
        ("@" * LONG,),
        ("-" * LONG,),
        ("a" * LONG,),
        ("a/" * (LONG // 2),),
        ("`a" * (LONG // 2),),
    ]
)
def test_names_in_a_summary_are_found_in_linear_time(text):
    hallucinated_references(text, "x")


def test_a_note_without_an_end_is_looked_for_once():
    from hermes_jobs.features.compression.summary import CLOSE, OPEN

    assert without_notes([UserMessage(f"{OPEN}\n" + "[]\n\n" * 100_000 + CLOSE[:-1])])[0] == ""


@each_row(
    [
        ("python -c 'open(" + " " * COMMAND + "'",),
        ("python -c 'open (a" + " " * COMMAND + "'",),
        ("python -c 'open(a, mode" + " " * COMMAND + "'",),
        ("awk '" + '> "' * (COMMAND // 3) + "'",),
        ("JVM_ARG" * (COMMAND // 7) + "=1 ls",),
        ("JVM_ARG_" + "_" * COMMAND + "=1 ls",),
        ("MYSQL_" * (COMMAND // 6) + "=1 psql",),
        ("psql -c '" + "connect " * (COMMAND // 8) + "'",),
        ("psql 'host=" + "host =" * (COMMAND // 6) + "'",),
        ("parallel {}{}{} ::: " + "a " * (COMMAND // 2),),
        ("parallel " + "{} " * (COMMAND // 6) + "::: " + "a " * (COMMAND // 4),),
        ("cmake -D" + "a." * (COMMAND // 2),),
    ]
)
def test_a_command_is_judged_in_linear_time(command):
    _judge(command)


def test_files_of_settings_are_bounded():
    for text in ("[" * LONG, "{a: " * (LONG // 4), "- " * (LONG // 2), "a: " + "1" * 100_000):
        with pytest.raises(yaml_text.YamlError):
            yaml_text.read(text)


def test_an_alias_is_refused_before_it_is_expanded():
    rows = [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]" for i in range(1, 12)]
    with pytest.raises(yaml_text.YamlError, match="alias"):
        yaml_text.read("\n".join(["k0: &k0 x", *rows]))


def test_a_diff_of_large_files_is_bounded():
    lines = [f"{index % 97}\n" for index in range(200_000)]
    assert len(file_diff("x", "".join(lines), "".join(reversed(lines)))) == 3
    assert file_diff("x", "ab" * LONG, "ba" * LONG)


def test_a_long_text_is_compared_with_entries_by_its_beginning():
    assert nearest(["the user lives in Kyoto"] * 3, "the user lives in Kyoto" + " ab" * LONG) != ()


@each_row([(" " * LONG,), ("a" * LONG,), ("a " * (LONG // 2),), ("a" + " " * LONG + "b",)])
def test_a_line_is_wrapped_in_linear_time(text):
    wrap(text[: LONG // 10], 80)


@each_row([("reset" * 100_000,), ("1" * 300_000,), ("until " * 100_000,), ("wait 1" * 100_000,)])
def test_the_text_of_a_refusal_is_read_in_linear_time(text):
    named_reset(text, 0.0)


@pytest.mark.slow
@each_row(
    [
        (form, opening + piece * (LONG // 4 // len(piece)))
        for form in FORMATS
        for opening in form.opens[:1]
        for piece in (
            " ",
            "{",
            "[",
            "<",
            '{"a":',
            "<parameter=a>",
            "\n<parameter=a>b</parameter>",
            "a(",
            "<arg_key>",
        )
    ]
)
def test_written_calls_are_read_in_linear_time(form, text):
    read_one(form, text, len(form.opens[0]))


@each_row(
    ["[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000, '{"command": "' + "a" * LONG + '"}']
)
def test_arguments_of_old_calls_are_shortened_in_linear_time(arguments):
    call = ToolCall("x", "terminal", arguments)
    result = ToolMessage(tool_call="x", name="terminal", content="[" * LONG)
    prune([AssistantMessage(content="", tool_calls=(call,)), result])
    list(json_objects(arguments))


def test_the_beginning_of_a_large_result_is_shown_in_linear_time():
    assert len(preview_of("[Tool Result: " * LONG, "results/x.txt", 2_000)) < 3_000


@each_row(["(", "a OR ", '"', '"a ', "-", "a* ", "NOT (", "あ", "a.b."])
def test_queries_of_searches_are_read_in_linear_time(piece):
    parse(piece * 100_000)
    question(piece * 100_000)


@each_row(["*", "_", "[", "![", "`", "> ", "- ", "<", "**a ", "|a", "# ", "[a](", "&", "a\n", "1. ", "*a_ "])
def test_answers_are_shown_in_linear_time(piece):
    text = piece * (20_000 // len(piece))
    complete_blocks(text)
    for block in blocks(text):
        render(block, 80)


@each_row(['"', " ", "\n", "Title: ", "*", "(2) "])
def test_titles_are_read_in_linear_time(piece):
    title_of(piece * 100_000)


def test_results_of_mcp_servers_are_read_in_linear_time():
    text_of({"content": [{"type": "text", "text": "["}] * 100_000}, lambda *_: "")
    text_of({"content": [], "structuredContent": {"a": "[" * LONG}}, lambda *_: "")


@each_row(["[", "[Tool ", "[Tool Result: ", "<persisted-output", "[SYSTEM", "\u200b["])
def test_marks_are_taken_from_a_text_in_linear_time(piece):
    without_marks(piece * 50_000)


@each_row(
    ["<div>", "<", "<a href=x>", "<title>", "<title", "<table><tr><td>", "<!--", "<ul><li>", "<blockquote>"]
)
def test_pages_are_converted_in_linear_time(piece):
    extract_markdown(piece * 10_000, "http://a.example/")


@each_row(["every ", "9:", "1 ", "at ", "in 3 ", "1/", '"', "monday, "])
def test_phrases_of_schedules_are_read_in_linear_time(piece):
    phrases.parse(piece * 8_000, datetime(2026, 1, 1, tzinfo=UTC), "UTC")


def test_texts_of_many_different_lines_are_merged_in_bounded_time():
    base, ours, theirs = (
        "".join(f"{number * factor % 100_003}\n" for number in range(100_003)) for factor in (1, 7, 100_002)
    )
    assert merge(base, ours, theirs)
    is_conflict(base, ours, theirs)


def test_a_command_is_looked_through_for_verbs_of_git_in_linear_time():
    assert not changes_settings("git " * 200_000)
    assert changes_settings("git " * 200_000 + "push")


def test_the_design_of_an_experiment_is_bounded(tmp_path):
    file = tmp_path / "design.yaml"
    for text in ("[" * 100_000, "a: &a [x]\nb: [*a, *a]"):
        file.write_text(text)
        with pytest.raises(Rejected):
            read_design(None, file)  # type: ignore[arg-type]  # refused before it is used
