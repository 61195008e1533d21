"""How this program was installed: from a git address or not, and by which installer."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join
from typing import NamedTuple

NAME = "hermes-jobs"
INSTALLERS = (
    ("uv-receipt.toml", f"uv tool upgrade {NAME}"),
    ("pipx_metadata.json", f"pipx upgrade {NAME}"),
)
"""The file by which an installer knows its environment again, and its command for a newer version."""


class GitSource(NamedTuple):
    """A git address. `revision`: the branch, tag or commit that was asked for; None: its default branch."""

    url: str
    revision: str | None
    commit: str


class Installation(NamedTuple):
    """`git` is None where it was not installed from a git address; `upgrade` is a command for a shell."""

    git: GitSource | None
    upgrade: str


def this_installation() -> Installation:
    """The one that runs."""
    try:
        recorded = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    return installation(recorded, Path(sys.prefix), Path(__file__).parents[3])


def installation(recorded: str | None, environment: Path, source: Path) -> Installation:
    """`recorded` is what the installer wrote into direct_url.json; `source` the folder above the package."""
    # https://packaging.python.org/en/latest/specifications/direct-url/
    try:
        origin = json.loads(recorded) if recorded else {}
    except ValueError:
        origin = {}
    if origin.get("dir_info", {}).get("editable"):
        return Installation(None, join(["git", "-C", str(source), "pull"]))
    vcs = origin.get("vcs_info", {})
    git = None
    if vcs.get("vcs") == "git" and vcs.get("commit_id") and origin.get("url"):
        git = GitSource(origin["url"], vcs.get("requested_revision"), vcs["commit_id"])
    for file, command in INSTALLERS:
        if (environment / file).exists():
            return Installation(git, command)
    wanted = NAME
    if git is not None:
        wanted = f"{NAME} @ git+{git.url}{f'@{git.revision}' if git.revision else ''}"
    python = str(environment / "bin" / "python")
    return Installation(git, join([python, "-m", "pip", "install", "--upgrade", wanted]))
