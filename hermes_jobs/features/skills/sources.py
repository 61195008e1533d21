"""Fetching skills: a folder, a git repository, an archive or a SKILL.md at an address, laid into a folder.

| named as                                       | is                                           |
|------------------------------------------------|----------------------------------------------|
| a folder that exists                           | used where it lies                           |
| a file that exists                             | a .zip or .tar.gz, or one SKILL.md           |
| https://github.com/OWNER/REPO[/tree/REV/PATH]  | that repository; GitLab, Codeberg as well;   |
|                                                | /blob/REV/PATH/SKILL.md means the folder     |
| ….git, git@…, ssh://…, file://…, git+https://… | a git repository: #REV:PATH is its state and |
|                                                | a folder in it                               |
| another https://…                              | a .zip or .tar.gz, or one SKILL.md: #PATH is |
|                                                | a folder in it                               |

Nothing is executed: no hooks, no submodules.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit, urlunsplit

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.rules.skill import MAIN_FILE
from hermes_jobs.system.bounded_archive import Unpackable, checked_path, unpack_tar, unpack_zip, zip_entries

MAX_DOWNLOAD = 20 << 20
MAX_UNPACKED = 60 << 20
MAX_ENTRIES = 5_000
GIT_SECONDS = 180.0
HTTP_SECONDS = 30.0
_FORGE = re.compile(
    r"https://(?P<host>github\.com|gitlab\.com|codeberg\.org)/(?P<owner>[\w.-]+)/(?P<repo>[\w.-]+?)(?:\.git)?/?"
    r"(?:/(?:-/)?(?:tree|blob|src/branch)/(?P<rev>[^/#]+)(?:/(?P<path>[^#?]+))?)?"
)
_SCP = re.compile(r"[\w.-]+@[\w.-]+:[^#]+")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class FetchedSkill(msgspec.Struct, frozen=True, kw_only=True):
    """Fetched files in `folder`. `source` and `path` identify them; `revision` is the commit of a
    repository."""

    folder: Path
    source: str
    path: str = ""
    revision: str = ""


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A git repository, a revision (empty: the default branch), and a folder in it."""

    address: str
    revision: str = ""
    path: str = ""


def fetch(source: str, into: Path) -> FetchedSkill:
    """Fetch `source` into an empty folder. Raises `Rejected`, kinds `usage` and `fetch`."""
    local = Path(source).expanduser()
    if local.is_dir():
        return FetchedSkill(folder=local, source=str(local.absolute()))
    if local.is_file():
        _unpack(_read(local), into)
        return FetchedSkill(folder=into, source=str(local.absolute()))
    if source.startswith("~") or "://" not in source.replace("git@", "://", 1):
        raise Rejected(f"There is no folder or file {source!r}.", kind="usage", hint=NAMED)
    repository = repository_of(source)
    if repository is not None:
        revision = _cloned(repository, into)
        address = (
            location if repository.address in (location := source.partition("#")[0]) else repository.address
        )
        pinned = f"{address}#{repository.revision}" if repository.revision else address
        return FetchedSkill(folder=into, source=pinned, path=repository.path, revision=revision)
    address, _, path = source.partition("#")
    _unpack(_downloaded(address), into)
    return FetchedSkill(folder=into, source=address, path=path.strip("/"))


NAMED = (
    "Name a folder, a git repository (https://….git#REV:PATH, file:///PATH), or a .zip, .tar.gz or SKILL.md, "
    "here or at an address."
)


def repository_of(source: str) -> Repository | None:
    """The named git repository; None if it is not one."""
    forge = _FORGE.fullmatch(source.partition("#")[0])
    address, _, more = source.partition("#")
    revision, _, path = more.partition(":")
    if forge is not None:
        address = f"https://{forge['host']}/{forge['owner']}/{forge['repo']}.git"
        return Repository(
            address=address,
            revision=revision or forge["rev"] or "",
            path=(path or forge["path"] or "").strip("/").removesuffix(MAIN_FILE).strip("/"),
        )
    if address.startswith("git+"):
        address = address.removeprefix("git+")
    elif not (
        address.startswith(("ssh://", "file://")) or address.endswith(".git") or _SCP.fullmatch(address)
    ):
        return None
    return Repository(address=address, revision=revision, path=path.strip("/"))


def _cloned(repository: Repository, into: Path) -> str:
    """Check out the repository into the folder; returns the commit. Raises `Rejected`."""
    _refuse_password(repository.address)
    if repository.revision.startswith("-"):
        raise Rejected(f"{repository.revision!r} is not a revision.", kind="usage", hint=NAMED)
    revision = repository.revision or "HEAD"
    _git(into, "init", "--quiet")
    _git(into, "fetch", "--quiet", "--depth", "1", "--no-tags", "--", repository.address, revision)
    _refuse_large(_git(into, "ls-tree", "-r", "-l", "-z", "FETCH_HEAD"))
    _git(into, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    return _git(into, "rev-parse", "HEAD").strip()


def _refuse_large(tree: str) -> None:
    """Refuse a commit that is larger than an archive may be. `tree` lists its files with their sizes."""
    entries = [entry.partition("\t") for entry in tree.split("\0") if entry]
    sizes = (about.split()[-1] for about, _, _ in entries)
    if len(entries) > MAX_ENTRIES:
        raise Rejected(f"The repository has more than {MAX_ENTRIES:,} files.", kind="usage", hint=NAMED)
    if sum(int(size) for size in sizes if size.isdigit()) > MAX_UNPACKED:
        raise _too_large("What is in the repository", MAX_UNPACKED)
    try:
        for _, _, name in entries:
            checked_path(name)
    except Unpackable as error:
        raise Rejected(f"The repository was not fetched: {error}.", kind="usage", hint=NAMED) from error


def _cause(stderr: str) -> str:
    """Git's output up to its first fatal error, without the advice after it."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = next((index for index, line in enumerate(lines) if line.startswith("fatal:")), len(lines) - 1)
    return " ".join(lines[: fatal + 1])[-300:] or "nothing"


def _git(folder: Path, *words: str) -> str:
    """Git's output, without hooks and with safe protocols only. Raises `Rejected`, kind `fetch`."""
    safe = ["-c", f"core.hooksPath={os.devnull}", "-c", "core.symlinks=false", "-c", "core.fsmonitor=false"]
    environ = {**os.environ, "GIT_ALLOW_PROTOCOL": "https:ssh:file", "GIT_LFS_SKIP_SMUDGE": "1"}
    environ["GIT_TERMINAL_PROMPT"] = "0"
    try:
        ran = subprocess.run(
            ["git", *safe, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError as error:
        raise Rejected(
            "git is not installed.", kind="fetch", hint="Install git, or give a folder."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise Rejected(f"git took more than {GIT_SECONDS:g} s.", kind="fetch", hint="Try again.") from error
    if ran.returncode:
        message = _cause(ran.stderr)
        raise Rejected(
            f"git {words[0]} failed: {message}",
            kind="fetch",
            hint="Is the address right, and may you read it?",
        )
    return ran.stdout


def _read(file: Path) -> bytes:
    """What the file holds. Raises `Rejected`."""
    try:
        if file.stat().st_size > MAX_DOWNLOAD:
            raise _too_large(f"The file {file}", MAX_DOWNLOAD)
        return file.read_bytes()
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}."
        raise Rejected(message, kind="fetch", hint="May you read it?") from error


def _downloaded(address: str) -> bytes:
    """The content at the address. Raises `Rejected`."""
    import httpx2

    _refuse_unsafe(address)
    try:
        with (
            httpx2.Client(follow_redirects=True, max_redirects=5, timeout=HTTP_SECONDS) as client,
            client.stream("GET", address) as response,
        ):
            _refuse_unsafe(str(response.url))
            response.raise_for_status()
            buffer = bytearray()
            for piece in response.iter_bytes():
                buffer += piece
                if len(buffer) > MAX_DOWNLOAD:
                    raise _too_large(f"What lies at {address}", MAX_DOWNLOAD)
    except httpx2.HTTPStatusError as error:
        status = f"{error.response.status_code} {error.response.reason_phrase}".strip()
        message = f"{address} cannot be fetched: the server answered {status}."
        raise Rejected(
            message, kind="fetch", hint="Is the address right, and may everybody read it?"
        ) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        message = f"{address} cannot be fetched: {str(error) or type(error).__name__}."
        raise Rejected(message, kind="fetch", hint="Is the address right?") from error
    return bytes(buffer)


def _unpack(content: bytes, into: Path) -> None:
    """Unpack an archive or one SKILL.md into the folder. Raises `Rejected`."""
    try:
        if content.startswith(b"PK"):
            _unzip(content, into)
        elif content.startswith(b"\x1f\x8b"):
            _untar(content, into)
        elif content.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"---"):
            (into / MAIN_FILE).write_bytes(content)
        else:
            message = "What lies there is no .zip, no .tar.gz and no SKILL.md."
            raise Rejected(message, kind="usage", hint=NAMED)
    except Unpackable as error:
        message = f"The archive was not unpacked: {error}."
        raise Rejected(message, kind="usage", hint="Unpack it, and give the folder.") from error
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, OSError, EOFError, ValueError) as error:
        message = f"The archive cannot be unpacked: {error}."
        raise Rejected(message, kind="fetch", hint="Fetch it again, or give the folder.") from error


def _unzip(content: bytes, into: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = zip_entries(archive, max_entries=MAX_ENTRIES, max_size=MAX_UNPACKED)
        unpack_zip(archive, files, into)


def _untar(content: bytes, into: Path) -> None:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as unpacked:
        unpack_tar(cast("IO[bytes]", unpacked), into, max_entries=MAX_ENTRIES, max_size=MAX_UNPACKED)


def _too_large(what: str, maximum: int) -> Rejected:
    return Rejected(f"{what} is larger than {maximum >> 20} MiB.", kind="usage", hint="Give a smaller one.")


def _refuse_unsafe(address: str) -> None:
    parts = urlsplit(address)
    _refuse_password(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        url_shown = urlunsplit(parts._replace(query=""))
        raise Rejected(f"{url_shown} is not an https address.", kind="usage", hint=NAMED)


def _refuse_password(address: str) -> None:
    if "://" in address and urlsplit(address).password:
        raise Rejected(
            "An address with a password would be recorded.",
            kind="usage",
            hint="Leave it out; git's credential helper knows it, or fetch it yourself and give the folder.",
        )
