"""`hermes-jobs processes`: the agent's background processes of this home, on this host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_process
from hermes_jobs.interfaces.cli.options import Json, example, exclude, limit_option
from hermes_jobs.interfaces.cli.output import cut, note, one_line
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column
from hermes_jobs.text.figures import duration

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.tools.background import BackgroundProcess

LINES = 40
CHUNK = 1 << 16
POLL = 0.2
ENDS = {"session": "its session", "turn": "its turn", "named": "stays"}
"""With what a process ends, for users."""

_ID = click.argument("process_id", metavar="ID", type=NonEmpty(), shell_complete=complete_process)


@group(epilog=example("hermes-jobs processes list", "hermes-jobs processes kill p3k9"))
def processes() -> None:
    """List, read and kill what the agent runs in the background.

    ID is an id, a unique prefix, the name that the agent gave, or `last`: the newest one, even if it has
    ended. Only processes of this host are listed; `down` stops them all.
    """


@processes.command("list", epilog=example("hermes-jobs processes list --all"))
@click.option("--all", "everything", is_flag=True, help="Include processes that ended within the last day.")
@limit_option("processes, the newest", default=None)
def list_processes(context: CliContext, everything: bool, limit: int | None, as_json: Json) -> None:
    """List background processes, oldest first."""
    chosen_processes = [
        process for process in context.application.processes.all() if everything or not process.is_over
    ]
    chosen_processes = chosen_processes if limit is None else chosen_processes[-limit:]
    PROCESSES.print_list(chosen_processes, as_json=as_json)
    for process in () if as_json else chosen_processes:
        _note_undone(context.application, process)


@processes.command("read", epilog=example("hermes-jobs processes read p3k9 --follow"))
@_ID
@click.option("-f", "--follow", is_flag=True, help="Follow the output until the process ends, or Ctrl-C.")
@limit_option("lines, the last", default=LINES)
def read_process(context: CliContext, process_id: str, follow: bool, limit: int, as_json: Json) -> None:
    """Print the end of a process's output."""
    exclude({"--follow": follow, "--json": as_json})
    store = context.application.processes
    process = store.find(process_id)
    output = store.output(process, None, CHUNK * 4)
    text = context.redact(_text(output.data))
    page = "".join(text.splitlines(keepends=True)[-limit:])
    print_result(
        lambda: {**_json(process), "output": page, "end": output.end},
        lambda: click.echo(page, nl=bool(page) and not page.endswith("\n")),
        as_json=as_json,
    )
    position = output.end
    while follow and not process.is_over:
        time.sleep(POLL)
        process = store.find(process.record.id)
        while (more := store.output(process, position, CHUNK)).data:
            click.echo(context.redact(_text(more.data)), nl=False)
            position = more.end
    if not as_json:
        note(f"{process.record.id}: {process.describe_state()}.")
        _note_undone(context.application, process)


@processes.command(
    "kill", epilog=example("hermes-jobs processes kill p3k9", "hermes-jobs processes kill --all")
)
@click.argument("process_ids", metavar="[ID]...", nargs=-1, shell_complete=complete_process)
@click.option("--all", "everything", is_flag=True, help="Kill all of them.")
def kill_processes(
    context: CliContext, process_ids: tuple[str, ...], everything: bool, as_json: Json
) -> None:
    """Kill processes and their children.

    They get SIGTERM, and SIGKILL two seconds later.
    """
    if everything == bool(process_ids):
        raise click.UsageError("Name the processes, or give --all.")
    store = context.application.processes
    if everything:
        ended = store.kill_where(lambda _record: True, wait=True)
    else:
        ended = [store.kill(process) for process in [store.find(name) for name in process_ids]]
    text = "\n".join(f"{process.record.id}: {process.describe_state()}." for process in ended)
    print_result(lambda: [_json(process) for process in ended], text or PROCESSES.empty, as_json=as_json)


def processes_left(application: Application, lineage: str) -> list[str]:
    """Lines about the processes that continue in the background of a session; none for none."""
    from hermes_jobs.text.figures import pluralize

    if not application.settings.paths.processes.is_dir():
        return []
    processes = application.processes.running(session=lineage)
    if not processes:
        return []
    if len(processes) == 1:
        (one,) = processes
        text = f"{one.record.id}, {cut(one_line(one.record.command), 40)}"
        return [
            f"Continues in the background: {text}",
            f"  end it: hermes-jobs processes kill {one.record.id}",
        ]
    count = pluralize(len(processes), "process", "processes")
    return [f"{count} continue in the background: hermes-jobs processes list"]


def ended_line(ended: Sequence[BackgroundProcess]) -> str:
    """A note on processes that were ended with their session; empty for none."""
    from hermes_jobs.text.figures import pluralize

    return f"Ended {pluralize(len(ended), 'background process', 'background processes')}." if ended else ""


def _note_undone(application: Application, process: BackgroundProcess) -> None:
    """Name the files that came to be while it ran, and were moved away."""
    from hermes_jobs.tools.made_folders import STAYS

    undone = dict.fromkeys(application.processes.files.undone(process.record.id))
    if moved := [path for path in undone if not path.startswith(STAYS)]:
        where = application.settings.paths.home / "quarantine"
        note(
            f"{process.record.id}: files that run by themselves were moved to {where}: {', '.join(moved[:5])}"
        )


def _since(process: BackgroundProcess) -> str:
    end = process.status.ended_at or time.time()
    return duration(max(0.0, end - process.record.started_at))


def _text(data: bytes) -> str:
    from hermes_jobs.tools.output import clean

    return clean(data.decode(errors="replace"))


def _json(process: BackgroundProcess) -> dict[str, Any]:
    from hermes_jobs.text.moments import iso

    record, status = process.record, process.status
    return {
        "process": record.id,
        "name": record.name or None,
        "state": process.state,
        "how": process.describe_state(),
        "exit_code": status.code,
        "ends_with": record.life,
        "command": record.command,
        "session": record.session,
        "turn": record.turn,
        "workdir": record.workdir,
        "started_at": iso(record.started_at),
        "ended_at": None if status.ended_at is None else iso(status.ended_at),
        "pid": status.pid or None,
    }


PROCESSES: Resource[BackgroundProcess] = Resource(
    (
        Column("PROCESS", lambda item: item.record.id),
        Column("NAME", lambda item: item.record.name or "-", rank=1),
        Column("STATE", lambda item: item.describe_state()),
        Column("FOR", _since),
        Column("ENDS WITH", lambda item: ENDS[item.record.life], rank=2),
        Column("COMMAND", lambda item: item.record.command, is_main=True),
    ),
    "No background processes.",
    _json,
)
