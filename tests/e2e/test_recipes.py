"""The recipes' commands, run as they are written, in a project with tests that fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.home import PATIENCE, Home
from tests.model_script import Answer, Rule, Script
from tests.model_server import ModelServer
from tests.processes import ROOT

PAGE = ROOT / "docs" / "recipes.md"
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"journalctl|hermes-jobs chat\b")  # not on every machine; needs a terminal
SCRIPT = Script(
    rules=(Rule(contains="Review this diff.", actions=(Answer(text='{"ok": true, "findings": []}'),)),),
    default=Answer(text="Because."),
)


def blocks() -> list[str]:
    """The blocks of the page as shell scripts; those of a console add `--yes`, since nobody is asked here."""
    found = [block.replace("\n$ ", "\n").removeprefix("$ ") for block in BLOCK.findall(PAGE.read_text())]
    lines = ("\n".join(line for line in block.splitlines() if not NOT_RUN.search(line)) for block in found)
    scripts = [
        re.sub(r"hermes-jobs schedule add\b", "hermes-jobs schedule add --yes", text) for text in lines
    ]
    return [script for script in scripts if script.strip()]


@pytest.fixture
def project(home: Home, model_server: ModelServer) -> Home:
    """A project under git with a change, whose `make test` fails; the home is where people have it."""
    model_server.follow(SCRIPT)
    home.path.mkdir(mode=0o700, exist_ok=True)
    user_home = Path(home.environ["HOME"])
    (user_home / ".hermes-jobs").symlink_to(home.path)
    (user_home / "project").symlink_to(home.work)
    (home.work / "Makefile").write_text("test:\n\tfalse\n")
    author = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*author, "commit", "-q", "-m", "One")):
        subprocess.run(["git", *words], cwd=home.work, check=True)
    (home.work / "Makefile").write_text("test:\n\tfalse # still\n")
    return home


@pytest.mark.slow
@pytest.mark.parametrize("script", blocks(), ids=lambda script: script.strip().splitlines()[-1][:50])
def test_every_recipe_works(project: Home, script: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{project.environ['PATH']}"
    before = "hermes-jobs send -q 'Why SQLite, and why did we choose it?' >/dev/null\n"
    ran = subprocess.run(
        ["sh", "-e", "-c", before + script],
        cwd=project.work,
        env={**project.environ, "PATH": path},
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, (script, ran.stdout, ran.stderr)
    assert "Error" not in ran.stderr
