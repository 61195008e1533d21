"""Files that are there, as commands meet them: keys that a pattern stands for, and files with content."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from tests.tools.support import context_in


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of code with keys, data and notes."""
    files = {
        ".env": "KEY=1",
        "secrets.yaml": "key: 1",
        "app.py": "print(1)",
        "deploy/server.key": "1",
        "orders": "1,2",
        "notes": "",
    }
    folder = tmp_path / "project"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def decision(project: Path, command: str) -> str:
    paths = PathPolicy(home=str(project.parent / "home"), user_home=str(project.parent))
    return CommandPolicy(paths=paths).verdict(command, context_in(project)).decision


@pytest.mark.parametrize("command", ["cat *", "cat s*", "head deploy/*", "cat .e*", "tail -n1 */server.key"])
def test_a_pattern_that_stands_for_keys_beside_the_code_asks(project: Path, command: str) -> None:
    assert decision(project, command) == "ask"


@pytest.mark.parametrize("command", ["cat a*", "cat *.py", "ls *", "wc -l *", "cat no*", "cat missing/*"])
def test_a_pattern_that_stands_for_other_files_runs(project: Path, command: str) -> None:
    assert decision(project, command) == "allow"


def test_a_pattern_is_looked_up_in_one_folder_only(project: Path) -> None:
    assert decision(project, "cat */s*") == "allow", "as docs/security.md says: only the command is read"


@pytest.mark.parametrize("command", ["> orders", ": > orders", "truncate -s 0 orders", "cp /dev/null orders"])
def test_emptying_a_file_asks_where_it_has_content(project: Path, command: str) -> None:
    assert decision(project, command) == "ask"
    assert decision(project, command.replace("orders", "notes")) == "allow"
    assert decision(project, command.replace("orders", "missing")) == "allow"


@pytest.mark.parametrize("command", ["dd if=/dev/zero of=orders count=1", "truncate -s 1 orders"])
def test_overwriting_a_part_of_a_file_asks_where_it_has_content(project: Path, command: str) -> None:
    assert decision(project, command) == "ask"
    assert decision(project, command.replace("orders", "missing")) == "allow"
