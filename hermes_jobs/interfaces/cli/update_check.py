"""`hermes-jobs update-check`: checks for a newer version at the source of this installation, only on
request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple

import click

from hermes_jobs import __version__
from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.options import example, json_option
from hermes_jobs.interfaces.cli.output import one_line
from hermes_jobs.interfaces.cli.param_types import FloatParam, NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result

INDEX = "https://pypi.org"
MAX_BYTES = 20_000_000
SHORT = 10  # shown characters of a commit


class KnownVersions(NamedTuple):
    """The versions at a source. `comparison`: the comparison in words."""

    installed: str
    newest: str
    is_newer: bool
    comparison: str


@click.command(epilog=example("hermes-jobs update-check", "hermes-jobs update-check --json"))
@click.option(
    "--index",
    metavar="URL",
    type=NonEmpty(),
    help=f"JSON API of a package index.  [default: the git address of the installation, else {INDEX}]",
)
@click.option(
    "--timeout", type=FloatParam(), metavar="SECONDS", default=10.0, show_default=True, help="Time limit."
)
@json_option
def update_check(index: str | None, timeout: float, as_json: bool) -> None:
    """Check for a newer release where this one was installed from.

    Only the request itself is sent, and nothing is installed.
    """
    installed = this_installation()
    if installed.git is not None and index is None:
        source, answer = installed.git.url, newest_commit(installed.git, timeout)
    else:
        source = (index or INDEX).rstrip("/")
        answer = _newest_release(source, timeout, installed.upgrade)
    fields = {
        "source": source,
        "installed": answer.installed,
        "newest": answer.newest,
        "is_newer": answer.is_newer,
        "upgrade": installed.upgrade if answer.is_newer else None,
    }
    last = f"To upgrade: {installed.upgrade}" if answer.is_newer else "There is nothing newer."
    print_result(lambda: fields, f"{answer.comparison}\n{last}", as_json=as_json)


def newest_commit(git: GitSource, timeout: float) -> KnownVersions:
    """The commit of the installed branch or tag; a pinned commit stays the same. Raises `Rejected`."""
    # An annotated tag is an object of its own; NAME^{} is the commit that it names.
    names = ("refs/heads/{}", "refs/tags/{}^{{}}", "refs/tags/{}", "{}")
    refs = [name.format(git.revision) for name in names] if git.revision else ["HEAD"]
    # Neither git nor ssh may prompt: the question would not be seen.
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_SSH_COMMAND": "ssh -oBatchMode=yes"}
    try:
        process = subprocess.run(
            ["git", "ls-remote", "--", git.url, *refs],
            env={**quiet, **os.environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _unusable(git.url, f"it did not answer within {timeout:g} s") from error
    except OSError as error:
        raise _unusable(git.url, f"git cannot be run: {error.strerror}") from error
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines() or [f"git ended with {process.returncode}"]
        raise _unusable(git.url, one_line(lines[0]))
    commits = dict(line.split("\t", 1)[::-1] for line in process.stdout.splitlines() if "\t" in line)
    newest = next((commits[name] for name in refs if name in commits), None)
    if newest is None and not git.commit.startswith(git.revision or " "):
        raise _unusable(git.url, f"it has no branch and no tag {git.revision}")
    newest = newest or git.commit
    where = f"{git.revision} of {git.url}" if git.revision else git.url
    text = f"Installed: {__version__}, commit {git.commit[:SHORT]}. {where} is at {newest[:SHORT]}."
    return KnownVersions(git.commit, newest, newest != git.commit, text)


def _newest_release(index: str, timeout: float, upgrade: str) -> KnownVersions:
    """The newest release on a package index. Raises `Rejected`."""
    from packaging.version import InvalidVersion, Version

    info = _index_data(index, timeout, upgrade)
    try:
        newest = str(info["version"])
        is_newer = Version(newest) > Version(__version__)
    except (KeyError, TypeError, InvalidVersion) as error:
        raise _unusable(index, "its answer names no version") from error
    summary = one_line(str(info.get("summary") or ""))
    text = f"Installed: {__version__}. Newest on {index}: {newest}{f' ({summary})' if summary else ''}."
    return KnownVersions(__version__, newest, is_newer, text)


def _index_data(index: str, timeout: float, upgrade: str) -> dict[str, Any]:
    """The index's data on the package. Raises `Rejected`."""
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    url = f"{index}/pypi/{NAME}/json"
    if not url.startswith(("https://", "http://")):
        raise click.BadParameter("it begins with https:// or http://.", param_hint="--index")
    request = Request(url, headers={"Accept": "application/json", "User-Agent": f"{NAME}/{__version__}"})
    try:
        with urlopen(request, timeout=timeout) as answer:
            info = json.loads(answer.read(MAX_BYTES))["info"]
    except HTTPError as error:
        if error.code == 404:
            raise Rejected(
                f"{NAME} is not published on {index}.",
                kind="not_published",
                hint=f"You have {__version__}. Check where you installed it from; to upgrade: {upgrade}",
            ) from error
        raise _unusable(index, f"it answered HTTP {error.code}") from error
    except TimeoutError as error:
        raise _unusable(index, f"it did not answer within {timeout:g} s") from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        slow = f"it did not answer within {timeout:g} s"
        raise _unusable(index, slow if isinstance(reason, TimeoutError) else str(reason)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise _unusable(index, "its answer is not JSON of a package index") from error
    if not isinstance(info, dict):
        raise _unusable(index, "its answer is not JSON of a package index")
    return info


def _unusable(source: str, reason: str) -> Rejected:
    return Rejected(
        f"{source} could not be asked: {reason}.",
        kind="unreachable",
        hint="Try again later; --timeout waits longer, --index asks a package index.",
    )


NAME = "hermes-jobs"
INSTALLERS = (
    ("uv-receipt.toml", f"uv tool upgrade {NAME}"),
    ("pipx_metadata.json", f"pipx upgrade {NAME}"),
)
"""The file by which an installer knows its environment again, and its command for a newer version."""


class GitSource(NamedTuple):
    """A git address. `revision`: the requested branch, tag or commit; None: its default branch."""

    url: str
    revision: str | None
    commit: str


class Installation(NamedTuple):
    """`git` is None if it was not installed from a git address; `upgrade` is a command for a shell."""

    git: GitSource | None
    upgrade: str


def this_installation() -> Installation:
    """The running installation."""
    try:
        recorded = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        recorded = None
    return installation(recorded, Path(sys.prefix), Path(__file__).parents[3])


def installation(recorded: str | None, environment: Path, source: Path) -> Installation:
    """`recorded` is the content of direct_url.json; `source` the folder above the package."""
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
    requirement = NAME
    if git is not None:
        requirement = f"{NAME} @ git+{git.url}{f'@{git.revision}' if git.revision else ''}"
    python = str(environment / "bin" / "python")
    return Installation(git, join([python, "-m", "pip", "install", "--upgrade", requirement]))
