"""`turns diff` and `turns rewind`: a turn's changes of files, and undoing them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, TurnId, example, exclude
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.features.snapshots.cli.rewind import Rewound, TurnRewind
    from hermes_jobs.features.snapshots.diffs import FileDiff
    from hermes_jobs.features.snapshots.rewind import Judged
    from hermes_jobs.features.snapshots.turn_files import NetChange, TurnFiles
    from hermes_jobs.kernel.events import FileState

_FILES = click.argument("files", metavar="[FILE]...", nargs=-1)


@command("diff", epilog=example("hermes-jobs turns diff t3k9", "hermes-jobs turns diff t3k9 --stat"))
@_FILES
@click.option("--stat", is_flag=True, help="Print one line per file instead of its diff.")
def diff_turn(
    context: CliContext, turn_id: TurnId, files: tuple[str, ...], stat: bool, as_json: Json
) -> None:
    """Show what a turn changed in files, as a diff.

    All writes of a file are one change. Changes by commands are not recorded and not shown.
    """
    exclude({"--stat": stat, "--json": as_json}, ": the JSON has the numbers")
    rewind = _rewind(context, turn_id)
    turn_files = rewind.files()
    changes = rewind.chosen(turn_files.files, files)
    diffs = [rewind.diff(change) for change in changes]

    def print_text() -> None:
        if stat:
            _print_stat(rewind, changes, diffs)
        else:
            _print_diffs(context, rewind, changes, diffs)
        _print_notes(rewind, turn_files)

    print_result(lambda: _diff_json(rewind, turn_files, changes, diffs), print_text, as_json=as_json)


@command(
    "rewind",
    epilog=example("hermes-jobs turns rewind t3k9 --dry-run", "hermes-jobs turns rewind t3k9 src/app.py"),
)
@_FILES
@click.option("--undo", is_flag=True, help="Undo the last rewind of this turn.")
@click.option(
    "--force",
    is_flag=True,
    help="Also restore files that were changed since; --undo brings those changes back.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be restored, and change nothing.")
def rewind_turn(
    context: CliContext,
    turn_id: TurnId,
    files: tuple[str, ...],
    undo: bool,
    force: bool,
    dry_run: bool,
    as_json: Json,
) -> None:
    """Restore the files that a turn's file tools changed.

    Files become what they were before the turn; files that it created are deleted. If one was changed since,
    nothing is restored without --force. Changes by commands are not recorded. --undo reverts a rewind.
    """
    rewind = _rewind(context, turn_id)
    rewound = rewind.run(undo=undo, force=force, dry_run=dry_run, paths=files)

    def print_text() -> None:
        for line in rewound_lines(rewind, rewound, undo=undo):
            click.echo(line)
        if rewound.recorded:
            other = "" if undo else " --undo"
            note(f"To change it back: hermes-jobs turns rewind {rewound.turn}{other}")
        if not undo and rewind.files().commands:
            note("Commands ran in this turn; their changes are not recorded.")

    print_result(lambda: _rewound_json(rewound), print_text, as_json=as_json)


DRY_RUN_VERBS = {"removed": "remove", "restored": "restore"}


def rewound_lines(rewind: TurnRewind, rewound: Rewound, *, undo: bool = False) -> list[str]:
    """The result for users: a line for each file."""
    from hermes_jobs.kernel.turns.titles import printable

    if rewound.is_nothing:
        return [f"Nothing to do: {_all_are(rewind, rewound)} before the {'rewind' if undo else 'turn'}."]
    would = "Would restore" if rewound.dry_run else "Redone" if undo else "Undone"
    lines = [f"{would}: {pluralize(len(rewound.files), 'file')} of turn {rewound.turn}"]
    for judged in (*rewound.files, *rewound.skipped):
        was_left = judged in rewound.skipped
        reason = f" ({judged.reason})" if was_left else ""
        did = _action(judged, was_left=was_left)
        if rewound.dry_run:
            did = DRY_RUN_VERBS.get(did, did)
        lines += [f"  {did:<8}  {printable(rewind.display_path(judged.change.path))}{reason}"]
    return lines


def _all_are(rewind: TurnRewind, rewound: Rewound) -> str:
    from hermes_jobs.kernel.turns.titles import printable

    if len(rewound.files) == 1:
        return f"{printable(rewind.display_path(rewound.files[0].change.path))} is as it was"
    return f"all {len(rewound.files)} files are as they were"


def _action(judged: Judged, *, was_left: bool) -> str:
    if was_left:
        return "left"
    if judged.judgement == "already":
        return "as it is"
    return "removed" if judged.change.before is None else "restored"


def _rewind(context: CliContext, text: str) -> TurnRewind:
    from hermes_jobs.features.snapshots.cli.rewind import TurnRewind

    return TurnRewind(context.application, context.find_turn(text))


def _status(change: NetChange) -> str:
    if change.before is None:
        return "created" if change.after is not None else "unchanged"
    if change.after is None:
        return "deleted"
    return "unchanged" if change.before.same_content(change.after) else "changed"


def _state_json(state: FileState | None) -> dict[str, object] | None:
    if state is None:
        return None
    stored: dict[str, object] = (
        {"kept": True} if not state.not_kept else {"kept": False, "why": state.not_kept}
    )
    return {"digest": state.digest or None, "size": state.size, "mode": f"{state.mode:04o}", **stored}


def _diff_json(
    rewind: TurnRewind, turn_files: TurnFiles, changes: Sequence[NetChange], diffs: Sequence[FileDiff]
) -> dict[str, object]:
    by_path = {change.path: change for change in turn_files.net_changes}
    standing_changes = [by_path[change.path] for change in changes]
    files = [
        {
            "path": change.path,
            "status": _status(change),
            "added": diff.added,
            "removed": diff.removed,
            "diff": "\n".join(diff.lines) or None,
            "note": diff.note or None,
            "before": _state_json(change.before),
            "after": _state_json(change.after),
            "now": judged.judgement,
            "why": judged.reason or None,
            "unsure": change.unsure,
            "calls": change.calls,
        }
        for change, diff, judged in zip(changes, diffs, rewind.judge(standing_changes), strict=True)
    ]
    restored = [
        {
            "at": moment,
            "by": event.by,
            "forced": event.forced,
            "files": [change.path for change in event.files],
        }
        for moment, event in turn_files.restored
    ]
    turn = rewind.turn
    return {
        "turn": turn.id,
        "session": turn.session,
        "workdir": rewind.workdir or None,
        "files": files,
        "num_commands": turn_files.commands,
        "unknown_calls": turn_files.lost,
        "restored": restored,
    }


def _rewound_json(rewound: Rewound) -> dict[str, object]:
    return {
        "turn": rewound.turn,
        "dry_run": rewound.dry_run,
        "files": [
            {"path": judged.change.path, "did": _action(judged, was_left=False), "was": judged.judgement}
            for judged in rewound.files
        ],
        "left": [{"path": judged.change.path, "why": judged.reason} for judged in rewound.skipped],
    }


def _print_diffs(
    context: CliContext, rewind: TurnRewind, changes: Sequence[NetChange], diffs: Sequence[FileDiff]
) -> None:
    from hermes_jobs.features.snapshots.cli.diff_format import colour

    for change, diff in zip(changes, diffs, strict=True):
        if diff.note:
            click.secho(f"{rewind.display_path(change.path)}: {_status(change)}", bold=True)
        for line in colour([context.redact(line) for line in (*diff.lines, *filter(None, [diff.note]))]):
            click.echo(line)


def _print_stat(rewind: TurnRewind, changes: Sequence[NetChange], diffs: Sequence[FileDiff]) -> None:
    from hermes_jobs.features.snapshots.cli.diff_format import bar
    from hermes_jobs.interfaces.cli.output import terminal_width
    from hermes_jobs.kernel.turns.titles import printable

    if not changes:
        return
    names = [printable(rewind.display_path(change.path)) for change in changes]
    width = min(max(map(len, names)), max(20, (terminal_width() or 80) - 30))
    largest = max(diff.added + diff.removed for diff in diffs)
    bar_width = max(10, (terminal_width() or 80) - width - 12)
    for name, diff in zip(names, diffs, strict=True):
        short = name if len(name) <= width else f"…{name[-(width - 1) :]}"
        total = diff.added + diff.removed
        text = diff.note or f"{total:>5} {bar(diff.added, diff.removed, largest, bar_width)}"
        click.echo(f" {short:<{width}} | {text}")
    added, removed = (
        sum(file_diff.added for file_diff in diffs),
        sum(file_diff.removed for file_diff in diffs),
    )
    sums = [pluralize(len(changes), "file")]
    sums += [f"{pluralize(added, 'line')} added"] * bool(added)
    sums += [f"{pluralize(removed, 'line')} removed"] * bool(removed)
    click.echo(f" {', '.join(sums)}")


def _print_notes(rewind: TurnRewind, files: TurnFiles) -> None:
    turn = rewind.turn.id
    if not files.files:
        note(f"Turn {turn} has changed no files with file tools.")
    for change in files.files:
        if change.unsure:
            note(f"{rewind.display_path(change.path)}: the last write was killed, and may not have happened.")
    for call in files.lost:
        note(f"{call} was killed; what it wrote, if anything, is not known here.")
    if files.commands:
        pronoun = "it" if files.commands == 1 else "they"
        note(f"{pluralize(files.commands, 'command')} ran in this turn; what {pronoun} changed is not kept.")
    if files.restored:
        from hermes_jobs.interfaces.cli.moments import format_time

        moment, event = files.restored[-1]
        note(f"Last restored {format_time(moment)} by {event.by}: {pluralize(len(event.files), 'file')}.")
