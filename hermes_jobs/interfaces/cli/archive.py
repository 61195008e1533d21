"""A backup: a ZIP with the log in its portable form and the files of the home that users write.

Not included: `.env` (it has secrets), files derived from the log (`views/`, `results/`), files of processes
(`logs/`, `run/`), hidden files, links. In `config.yaml` the addresses of log and broker are blanked, so that
a restored home does not use those of the original."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from hermes_jobs.errors import Misconfigured, Rejected

if TYPE_CHECKING:
    from hermes_jobs.settings import Paths, Secrets

EVENTS = "events.jsonl"
FILES = "home/"
PLACES = (("log_url",), ("broker_url",))
"""Keys of `config.yaml` that say where a home's log and broker are."""


def pack(file: IO[bytes], events: Iterable[bytes], paths: Paths, secrets: Secrets) -> list[str]:
    """Write a backup; returns the names of its files other than the events, as in the home."""
    names = []
    with ZipFile(file, "w", ZIP_DEFLATED, allowZip64=True) as archive:
        with archive.open(_entry(EVENTS, 0o600), "w", force_zip64=True) as entry:
            for line in events:
                entry.write(line)
        for path in _files(paths):
            name = path.relative_to(paths.home).as_posix()
            try:
                mode, content = stat.S_IMODE(path.stat().st_mode) & 0o700, path.read_bytes()
            except FileNotFoundError:
                continue  # deleted meanwhile
            if path == paths.config:
                content = secrets.redact(_without_places(content.decode())).encode()
            archive.writestr(_entry(FILES + name, mode), content)
            names.append(name)
    return names


@contextmanager
def open_archive(path: Path) -> Iterator[ZipFile]:
    """The backup in that file. Raises `Rejected` if it is not one, or damaged."""
    try:
        with ZipFile(path) as archive:
            if EVENTS not in archive.namelist():
                raise Rejected(f"{path} is not a backup of hermes-jobs: it holds no {EVENTS}.", kind="usage")
            yield archive
    except BadZipFile as error:
        hint = "Nothing was imported. Use another copy of it."
        raise Rejected(f"{path} is damaged: {error}.", kind="unreadable_export", hint=hint) from error


def unpack(archive: ZipFile, folder: Path) -> list[str]:
    """Write the home's files of a backup into an empty folder; returns their names. Raises `Rejected`."""
    names = []
    for entry in archive.infolist():
        if not entry.filename.startswith(FILES) or entry.is_dir():
            continue
        name = PurePosixPath(entry.filename.removeprefix(FILES))
        if not name.parts or name.is_absolute() or ".." in name.parts:
            raise Rejected(f"The backup holds a file outside the home: {entry.filename!r}.", kind="usage")
        target = folder / name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = (entry.external_attr >> 16) & 0o700 | 0o600
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with archive.open(entry) as source, os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(source, file)
        names.append(str(name))
    return names


def move_into_home(names: Iterable[str], folder: Path, home: Path) -> list[str]:
    """Move the files from the folder into the home; returns the names of existing files, which stay."""
    remaining = []
    for name in names:
        target = home / name
        if target.exists():
            remaining.append(name)
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / name).replace(target)
    return remaining


def _files(paths: Paths) -> Iterator[Path]:
    yield from (path for path in (paths.config, paths.soul) if path.is_file())
    for folder in (paths.memories, paths.skills, paths.commands, paths.agents, paths.plugins):
        for here, folders, files in os.walk(folder):
            folders[:] = sorted(folder_name for folder_name in folders if _is_people_s(folder_name))
            archived = (Path(here) / name for name in sorted(files) if _is_people_s(name))
            yield from (path for path in archived if path.is_file() and not path.is_symlink())


def _is_people_s(name: str) -> bool:
    return not name.startswith(".") and name != "__pycache__"


def _without_places(config: str) -> str:
    from hermes_jobs.settings.yaml_text import CannotEdit, YamlError, read, replace

    try:
        set_here = read(config).lines
        for place in PLACES:
            if place in set_here:
                config = replace(config, place, None)
    except (YamlError, CannotEdit) as error:
        raise Misconfigured(f"config.yaml cannot be read: {error}.") from error
    return config


def _entry(name: str, mode: int) -> ZipInfo:
    entry = ZipInfo(name)
    entry.compress_type = ZIP_DEFLATED
    entry.external_attr = (stat.S_IFREG | mode) << 16
    return entry
