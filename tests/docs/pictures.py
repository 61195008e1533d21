"""`make pictures`: the terminals that the documentation shows, each a real run, as SVG in docs/images.

The model behind them is a script, so that they can be made again; everything else is what people get. The
folder that they work in is made again each time, with a week of commits before today.
"""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.docs.svg import drawn
from tests.e2e.screen import Screen
from tests.home import KEY, Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.processes import ROOT

IMAGES = ROOT / "docs" / "images"
MODEL = "gpt-5-mini"
CODE = 'def slug(title):\n    return title.lower().replace(" ", "-")\n'
MENDED = (
    "import unicodedata\n\n\ndef slug(title):\n"
    '    plain = unicodedata.normalize("NFKD", title)\n'
    '    plain = plain.encode("ascii", "ignore").decode()\n'
    '    return plain.lower().replace(" ", "-")\n'
)
TEST = (
    "import unittest\n\nfrom slug import slug\n\n\nclass Slugs(unittest.TestCase):\n"
    '    def test_words_are_joined(self):\n        self.assertEqual(slug("Hello World"), "hello-world")\n\n'
    '    def test_accents_go(self):\n        self.assertEqual(slug("Crème brûlée"), "creme-brulee")\n'
)
WEEK = (
    (6, 9, "A slug is made of a title"),
    (5, 10, "Words are joined by hyphens"),
    (5, 11, "README: what a slug is"),
    (5, 17, "README: how to install it"),
    (4, 16, "Titles may be empty"),
    (1, 10, "Tests: words"),
    (1, 10, "Tests: accents"),
    (1, 23, "Tests: titles that are empty"),
    (0, 0, "Tests: numbers"),
    (0, 9, "README: an example"),
)
"""Commits: how many days ago, at which hour, with which subject."""

SCRIPT = Script(
    rules=(
        Rule(
            contains="fails",
            actions=(
                Answer(
                    text="I look at the code and its test.",
                    tool_calls=(
                        AskedCall("read_file", {"path": "slug.py"}),
                        AskedCall("read_file", {"path": "test_slug.py"}),
                    ),
                ),
                Answer(
                    tool_calls=(
                        AskedCall(
                            "patch_file",
                            {"path": "slug.py", "old_string": CODE, "new_string": MENDED},
                        ),
                    )
                ),
                Answer(tool_calls=(AskedCall("terminal", {"command": "python3 -m unittest -q"}),)),
                Answer(
                    text="Both tests pass. `slug` kept accents, and the test wants them gone:\n\n"
                    "* **slug.py**: letters are split from their accents (NFKD), and what is not ASCII is"
                    " dropped.\n* Nothing else was changed."
                ),
            ),
        ),
        Rule(
            contains="Tidy",
            actions=(
                Answer(tool_calls=(AskedCall("terminal", {"command": "rm -r build dist"}),)),
                Answer(text="`build` and `dist` are gone."),
            ),
        ),
    ),
    default=Answer(text="Yes."),
)


def main() -> None:
    """Make every picture, or those that are named."""
    wanted = sys.argv[1:] or list(PICTURES)
    with TemporaryDirectory() as folder, closing(ModelServer(SCRIPT).start()) as model:
        home = home_with_project(Path(folder), model.base_url)
        for name in wanted:
            (IMAGES / f"{name}.svg").write_text(PICTURES[name](home))
            sys.stdout.write(f"docs/images/{name}.svg\n")


def home_with_project(folder: Path, url: str) -> Home:
    """A home whose working folder is a small project."""
    home = Home(folder, {"OPENAI_API_KEY": KEY, "HERMES_JOBS_MODEL": MODEL, "OPENAI_BASE_URL": url})
    home.path.mkdir(mode=0o700)
    (home.path / "config.yaml").write_text(f"models:\n  prices:\n    {MODEL}: {{input: 0.25, output: 2}}\n")
    _project(home.work)
    return home


def _project(folder: Path) -> None:
    """A small project with a week of commits in it, and a test that fails."""
    _git(folder, "init", "-q")
    midnight = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    for number, (days, hour, subject) in enumerate(WEEK):
        (folder / "README.md").write_text(f"# Slugs\n\n{'A slug is a title in an address.' * number}\n")
        at = (midnight - datetime.timedelta(days=days) + datetime.timedelta(hours=hour)).isoformat()
        _git(folder, "add", "-A")
        _git(folder, "commit", "-q", "-m", subject, GIT_AUTHOR_DATE=at, GIT_COMMITTER_DATE=at)
    (folder / "slug.py").write_text(CODE)
    (folder / "test_slug.py").write_text(TEST)
    for name in ("build", "dist"):
        (folder / name).mkdir(exist_ok=True)


def _git(folder: Path, *words: str, **environ: str) -> None:
    person = {
        f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in PERSON.items()
    }
    subprocess.run(["git", *words], cwd=folder, check=True, env={**os.environ, **person, **environ})


PERSON = {"NAME": "Ann", "EMAIL": "ann@example.com"}


def _first(home: Home) -> str:
    """The first message, without a model."""
    text = "What happened in this folder this week?"
    nothing = {"OPENAI_API_KEY": "", "HERMES_JOBS_MODEL": "", "OPENAI_BASE_URL": ""}
    other = Home(home.work.parent, {**home.environ, **nothing, "HERMES_JOBS_HOME": f"{home.path}0"})
    with Screen(other, "send", text, lines=40) as screen:
        screen.end()
        return drawn(screen.rows(), command=f'hermes-jobs send "{text}"')


def _chat(home: Home) -> str:
    """A test is mended in a chat."""
    with Screen(home, "chat", lines=30) as screen:
        screen.shows("/help · new session")
        screen.type("The accents test fails. Please mend it.\r")
        screen.shows("· turn t")
        screen.shows("/help · s")
        return drawn(screen.rows(), command="hermes-jobs chat")


def _question(home: Home) -> str:
    """A dangerous command waits for its answer."""
    with Screen(home, "send", "Tidy up: I need no build folders.", lines=16) as screen:
        screen.shows("y once")
        time.sleep(0.5)
        picture = drawn(screen.rows(), command='hermes-jobs send "Tidy up: I need no build folders."')
        screen.type("y")
        screen.end()
        return picture


def _turn(home: Home) -> str:
    """How a turn is shown: what it was, and when each step ran. What tools answered stands below that."""
    with Screen(home, "turns", "show", "last", columns=96, lines=99) as screen:
        screen.end()
        rows = screen.rows()
    steps = next(at for at, row in enumerate(rows) if "".join(cell.data for cell in row).startswith("All by"))
    return drawn(rows[: steps + 1], command="hermes-jobs turns show last")


PICTURES: dict[str, Callable[[Home], str]] = {
    "first-message": _first,
    "chat": _chat,
    "turn": _turn,
    "approval": _question,
}

if __name__ == "__main__":
    main()
