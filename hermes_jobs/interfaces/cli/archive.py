"""A backup: a ZIP with the log in its portable form and the files of the home that users write.

Not included: `.env` (it has secrets), files derived from the log (`views/`, `results/`), files of processes
(`logs/`, `run/`), hidden files, links. In `config.yaml` the addresses of log and broker are blanked, so that
a restored home does not use those of the original."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.system.bounded_archive import unpack_zip, zip_entries

if TYPE_CHECKING:
    from hermes_jobs.settings import Paths, Secrets

EVENTS = "events.jsonl"
FILES = "home/"
MAX_ENTRIES = 100_000
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
            if EVENTS not in archive.NameToInfo:
                raise Rejected(f"{path} is not a backup of hermes-jobs: it holds no {EVENTS}.", kind="usage")
            yield archive
    except BadZipFile as error:
        hint = "Nothing was imported. Use another copy of it."
        raise Rejected(f"{path} is damaged: {error}.", kind="unreadable_export", hint=hint) from error


def unpack(archive: ZipFile, folder: Path, paths: Paths) -> list[str]:
    """Write the home's files of a backup into an empty folder; returns their names.

    In `config.yaml` the addresses of log and broker are blanked. Raises `Rejected` for a file that no backup
    has, and `Unpackable`.
    """
    files = []
    for path, entry in zip_entries(archive, max_entries=MAX_ENTRIES):
        if str(path) == EVENTS:
            continue
        inside = PurePosixPath(*path.parts[1:])
        if path.parts[0] != FILES.rstrip("/") or not _is_of_backups(inside, paths):
            raise Rejected(
                f"The archive holds {str(path)[:200]!r}, which is in no backup.",
                kind="usage",
                hint="Nothing was imported. Take it out of the archive, and put it into the home yourself.",
            )
        files.append((inside, entry))
    unpack_zip(archive, tuple(files), folder)
    config = folder / paths.config.name
    if config.is_file():
        config.write_text(_without_places(config.read_text("utf-8", errors="replace")), "utf-8")
    return [str(inside) for inside, _ in files]


def _is_of_backups(inside: PurePosixPath, paths: Paths) -> bool:
    """Whether `pack` would include that file of a home."""
    if len(inside.parts) == 1:
        return inside.name in {paths.config.name, paths.soul.name, paths.instructions.name}
    folders = {folder.name for folder in _folders(paths)}
    return inside.parts[0] in folders and all(map(_is_people_s, inside.parts))


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
    yield from (path for path in (paths.config, paths.soul, paths.instructions) if path.is_file())
    for folder in _folders(paths):
        for here, folders, files in os.walk(folder):
            folders[:] = sorted(folder_name for folder_name in folders if _is_people_s(folder_name))
            archived = (Path(here) / name for name in sorted(files) if _is_people_s(name))
            yield from (path for path in archived if path.is_file() and not path.is_symlink())


def _folders(paths: Paths) -> tuple[Path, ...]:
    return (paths.memories, paths.skills, paths.commands, paths.agents, paths.plugins)


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
