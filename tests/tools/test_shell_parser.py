"""The shell parser finds every program that bash itself would start."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_jobs.tools.invocations import Invocation, invocations
from hermes_jobs.tools.shell_words import UNKNOWN, Unparsable
from tests.examples import examples

BASH = shutil.which("bash")

RECORDER = 'command_not_found_handle() { printf "%s\\n" "$1" >&3; return 1; }; eval "$1"'
"""Every program is unknown to this bash: it prints the names to descriptor 3 instead of starting them."""

PIECES = st.sampled_from(
    [
        "m1", "m2", "m3 a", "m4 'q r'", 'm5 "d $(m6 e) f"', "'", '"', "`m7`", "$(m8)", "$(", "`", ")", "(",
        "{ ", "}", "; ", "&& ", "| ", "& ", "\n", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "\n\tE\n", "> o1",
        "< /dev/null", "$x", "${x:-$(m9)}", "${x", "x=m1 ", "x=m1; ", "\\", "#", "$((1+2))", "((1))",
        "case x in x) ", ";; ", "esac", "if m2; then ", "fi", "do ", "done", "for i in m1 m2; ", "$i",
        "while m1; ", "$'\\x6d1'", "<(m3)", "! ", "f() { m4; }", "function g ", "[[ a == b ]]", "2>&1",
        "&>o2", "|& ", "a=(m1 m2)", "${a[0]}", "{m1,m2}", "~", "$(<o1)", "<<<m1", "time ", "\\\n",
        "eval m3", "then ", "else ", "elif m1; ", "\"${x:-'a}\"", "\"${x#'}\"", "${x//(/b}", "x#y",
        "${x/#a/`m2`}", '$"m1"', "$[", "]", "$", "$((", "))", "for ((i=0;i<1;i++))", "for i ", "E\\\n",
        "<<-E", "\"${x-'$(m1)'}\"", "'a[$(m1)]'", "${HOME:", "SECONDS=", "for RANDOM in ", "declare -i i; ",
        "i=", "coproc n ", "test -v ", "read i ", "\\'", "=", "*", " ", "",
    ]
)  # fmt: skip


@pytest.mark.skipif(BASH is None or sys.platform != "linux", reason="bash reports here what it would start")
@settings(max_examples=examples(200))
@given(st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "; "])).map("".join), min_size=2, max_size=7))
def test_every_program_that_bash_starts_is_found(tmp_path_factory, pieces):
    text = "".join(pieces)
    started = started_by_bash(text, tmp_path_factory.mktemp("bash"))
    try:
        found = invocations(text, "/w", {"HOME": "/h", "IFS": " "})
    except Unparsable:
        return
    assert started <= {name for each in found for name in names(each)} or is_unknown(found)


def started_by_bash(text: str, folder: Path) -> set[str]:
    record = folder / "record"
    command = f"exec 3>>{record}; {RECORDER}"
    subprocess.run(
        [str(BASH), "--norc", "-c", command, "bash", text],
        cwd=folder,
        env={"PATH": "/nonexistent", "HOME": "/h"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    return {line for line in record.read_text(errors="replace").split("\n") if re.fullmatch(r"m\d", line)}


def names(invocation: Invocation) -> set[str]:
    """The program, and the words after a `time` or assignment that bash takes for the program."""
    return {invocation.name, *invocation.arguments} if invocation.name == "time" else {invocation.name}


def is_unknown(found: list[Invocation]) -> bool:
    return any(UNKNOWN in each.name for each in found)


def test_the_body_of_a_loop_over_a_variable_that_programs_obey_is_found():
    found = invocations("set -- a; for GIT_DIR do for x { m1; }; done", "/w", {})
    assert "m1" in [each.name for each in found]


def test_a_here_document_with_indented_end_runs_its_substitutions():
    found = invocations("cat <<-E\n\t$(m1 x)\n\tE", "/w", {})
    assert [each.name for each in found] == ["m1", "cat"]


@pytest.mark.parametrize("text", ["a=(m1 m2)do m1", "a=(m1 m2)then m3", "a=(m1 m2)m2"])
def test_a_word_behind_an_array_cannot_be_read(text):
    with pytest.raises(Unparsable, match="without a blank"):
        invocations(text, "/w", {})


def test_the_words_of_an_array_are_data_but_for_their_substitutions():
    assert [each.name for each in invocations("a=(m1 $(m2 x)); m3", "/w", {"IFS": " "})] == ["m2", "", "m3"]
