"""Texts of models, files and servers of the worst shapes, so long that work in their square takes minutes.

Each row ends within the tests' timeout only if its function is linear in the text, or bounds it.
"""

from __future__ import annotations

import pytest

from hermes_jobs.features.compression.summary import hallucinated_references, without_notes
from hermes_jobs.features.memory.rules.writes import nearest
from hermes_jobs.interfaces.cli.output import wrap
from hermes_jobs.kernel.turns.messages import UserMessage
from hermes_jobs.llm.call_markup import FORMATS, read_one
from hermes_jobs.llm.resets import named_reset
from hermes_jobs.settings import yaml_text
from hermes_jobs.text.diff import file_diff
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
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
