"""Completion: what a shell is offered, from what is there at once, and what it costs to ask."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import ROOT
from tests.written_home import WrittenHome


def offered(home: WrittenHome, line: str) -> list[str]:
    """What bash is offered for the last word of the line."""
    words = line.split(" ")
    environ = {
        "_HERMES_JOBS_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = home.run(**environ)
    assert (done.code, done.err) == (0, "")
    return [each.partition(",")[2] for each in done.out.splitlines() if each]


def test_commands_and_flags_are_offered(home: WrittenHome) -> None:
    assert offered(home, "hermes-jobs se") == ["setup", "send", "sessions", "service", "serve"]
    assert offered(home, "hermes-jobs turns f") == ["follow"]
    assert offered(home, "hermes-jobs send --if") == ["--if-busy", "--if-changed"]
    assert offered(home, "hermes-jobs send --if-busy st") == ["steer"]
    assert offered(home, "hermes-jobs completion ") == ["bash", "zsh", "fish"]


def test_ids_of_recent_turns_and_sessions_are_offered_as_far_as_the_views_have_come(
    home: WrittenHome,
) -> None:
    assert offered(home, "hermes-jobs turns show ") == []
    home.answered("aa", "abc1")
    home.answered("bb", "abd2")
    assert offered(home, "hermes-jobs turns show ab") == []
    home.run("turns", "list")
    assert offered(home, "hermes-jobs turns show ab") == ["abd2", "abc1"]
    assert offered(home, "hermes-jobs turns follow abc") == ["abc1"]
    assert offered(home, "hermes-jobs sessions show ") == ["last", "bb", "aa"]
    assert offered(home, "hermes-jobs turns show la") == ["last", "last~1"]
    assert offered(home, "hermes-jobs turns show last~") == ["last~1"]
    assert offered(home, "hermes-jobs send -s a") == ["aa"]


def test_labels_are_offered_where_one_is_wanted(home: WrittenHome) -> None:
    home.answered("aa", "abc1")
    home.answered("bb", "abd2")
    home.run("turns", "label", "abc1", "invoices", "hard")
    home.run("turns", "label", "abd2", "invoices")
    home.run("turns", "list")
    assert offered(home, "hermes-jobs turns list --label ") == ["invoices", "hard"]
    assert offered(home, "hermes-jobs turns label abd2 h") == ["hard"]
    assert offered(home, "hermes-jobs turns label abd2 --remove i") == ["invoices"]


def test_numbers_of_rules_are_offered_while_they_are_in_force(home: WrittenHome) -> None:
    for pattern in ("npm test *", "make *", "edit:src/*"):
        home.run("approvals", "add", "allow", pattern)
    home.run("approvals", "remove", "2")
    home.run("turns", "list")
    assert offered(home, "hermes-jobs approvals remove ") == ["3", "1"]
    assert offered(home, "hermes-jobs approvals remove 3") == ["3"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_this_program(shell: str, home: WrittenHome) -> None:
    script = home.run("completion", shell)
    assert script.code == 0
    assert f"_HERMES_JOBS_COMPLETE={shell}_complete" in script.out


def test_bash_takes_the_script(home: WrittenHome) -> None:
    script = home.run("completion", "bash").out
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ncomplete -p hermes-jobs"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "hermes_jobs_completion" in done.stdout


def test_offering_ids_loads_no_database_toolkit(home: WrittenHome) -> None:
    program = (
        "import sys\n"
        "from hermes_jobs.interfaces.cli import run\n"
        "try: run([])\n"
        "except SystemExit: pass\n"
        "sys.exit(', '.join({'sqlalchemy', 'celery', 'openai'} & sys.modules.keys()) or 0)"
    )
    environ = {
        "_HERMES_JOBS_COMPLETE": "bash_complete",
        "COMP_WORDS": "hermes-jobs turns show ",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"HERMES_JOBS_HOME": str(home.path), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
