"""The net changes of a turn's file tools.

They are read from the log, and for killed calls from the snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from hermes_jobs.features.snapshots.store import SnapshotStore
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.events.recorded import RecordedEvent
from hermes_jobs.kernel.log.log import EventLog

BATCH = 1000
WRITING = frozenset({"write_file", "patch_file"})
COMMANDS = frozenset({"terminal"})


class NetChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file before the turn's first change of it, and after the last one.

    `unsure`: the last write was killed; the file may still be as in `unwritten`. `later` is another turn of
    the session that has written it since. `calls` are the writing calls, in order.
    """

    path: str
    before: e.FileState | None
    after: e.FileState | None
    folders: tuple[str, ...] = ()
    host: str = ""
    protected: bool = False
    unsure: bool = False
    unwritten: e.FileState | None = None
    later: str = ""
    calls: tuple[str, ...] = ()


class TurnFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a turn in the order of their paths; `net_changes` are the same, after later
    restorations.

    `commands` counts commands that ran. `lost` are killed calls whose planned changes are not on this
    host. `restored` are the restorations with their times, oldest first.
    """

    files: tuple[NetChange, ...] = ()
    net_changes: tuple[NetChange, ...] = ()
    commands: int = 0
    lost: tuple[str, ...] = ()
    restored: tuple[tuple[str, e.FilesRestored], ...] = ()


def turn_files(log: EventLog, stream: str, position: int, turn: str, store: SnapshotStore) -> TurnFiles:
    """The files of a turn that was submitted at that position of the stream. Raises `LogUnavailable`."""
    events: list[RecordedEvent] = []
    after = position - 1
    while batch := log.tail(after, BATCH, stream=stream):
        events.extend(event for event in batch if isinstance(event.event, _READ))
        after = batch[-1].position
        if len(batch) < BATCH:
            break
    return files_of(events, turn, store)


_READ = (e.ToolStarted, e.ToolFinished, e.FileWritten, e.ToolInterrupted, e.FilesRestored)


def files_of(events: Sequence[RecordedEvent], turn: str, store: SnapshotStore) -> TurnFiles:
    """The files of a turn, from the events of its stream."""
    reader = _Reader(store)
    restored = []
    later: dict[str, str] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, e.FileWritten) and event.turn != turn:
            later[event.change.path] = event.turn
        if getattr(event, "turn", None) != turn:
            continue
        reader.read(event)
        if isinstance(event, e.FilesRestored):
            restored.append((recorded.recorded_at, event))
        elif isinstance(event, e.FileWritten):
            later.pop(event.change.path, None)
    return TurnFiles(
        files=tuple(change for _, change in sorted(reader.written.items())),
        net_changes=tuple(
            msgspec.structs.replace(change, later=later.get(path, ""))
            for path, change in sorted(reader.net_changes.items())
        ),
        commands=reader.commands,
        lost=tuple(reader.lost),
        restored=tuple(restored),
    )


def last_rewind(files: TurnFiles) -> tuple[NetChange, ...]:
    """The changes of the last rewind that was not undone yet, for undoing it."""
    rewinds: list[e.FilesRestored] = []
    for _, event in files.restored:
        if not event.undo:
            rewinds.append(event)
        elif rewinds:
            paths = {change.path for change in event.files}
            remaining = tuple(change for change in rewinds[-1].files if change.path not in paths)
            rewinds[-1:] = [msgspec.structs.replace(rewinds[-1], files=remaining)] if remaining else []
    by_path = {change.path: change for change in files.net_changes}
    return _restored_changes(rewinds[-1], by_path) if rewinds else ()


def _restored_changes(restored: e.FilesRestored, files: Mapping[str, NetChange]) -> tuple[NetChange, ...]:
    return tuple(
        NetChange(
            path=change.path,
            before=change.before,
            after=change.after,
            folders=change.folders,
            host=restored.host,
            protected=change.path in files and files[change.path].protected,
        )
        for change in restored.files
    )


class _Reader:
    """Folds the events of one turn."""

    def __init__(self, store: SnapshotStore) -> None:
        self._store = store
        self._started_calls: dict[str, str] = {}
        self.written: dict[str, NetChange] = {}
        self.net_changes: dict[str, NetChange] = {}
        self._commands: set[str] = set()
        self.lost: list[str] = []

    def read(self, event: e.Event) -> None:
        match event:
            case e.ToolStarted():
                self._started_calls[event.call] = event.name
                if event.name in COMMANDS:
                    self._commands.add(event.call)
            case e.ToolFinished() if event.refused or event.invalid:
                self._commands.discard(event.call)
            case e.FileWritten():
                self._add(_change(event.change, event.host, event.call, protected=event.protected))
            case e.ToolInterrupted() if self._started_calls.get(event.call) in WRITING:
                planned = self._store.planned(event.call)
                if planned is not None:
                    self._add(_change(planned, "", event.call, unsure=True))
                elif event.reason != "cancelled":
                    self.lost.append(event.call)
            case e.FilesRestored():
                for change in event.files:
                    _add(self.net_changes, _change(change, event.host))
            case _:
                pass

    @property
    def commands(self) -> int:
        """The number of commands."""
        return len(self._commands)

    def _add(self, change: NetChange) -> None:
        for files in (self.written, self.net_changes):
            _add(files, change)


def _change(
    change: e.FileChange, host: str, call: str = "", *, protected: bool = False, unsure: bool = False
) -> NetChange:
    return NetChange(
        path=change.path,
        before=change.before,
        after=change.after,
        folders=change.folders,
        host=host,
        protected=protected,
        unsure=unsure,
        unwritten=change.before if unsure else None,
        calls=(call,) if call else (),
    )


def _add(files: dict[str, NetChange], change: NetChange) -> None:
    """One more change, behind those of the same file."""
    first = files.get(change.path)
    if first is not None:
        change = msgspec.structs.replace(
            change,
            before=first.before,
            folders=change.folders or first.folders,
            protected=change.protected or first.protected,
            calls=(*first.calls, *change.calls),
        )
    files[change.path] = change
