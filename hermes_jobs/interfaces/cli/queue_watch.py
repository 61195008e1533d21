"""`queues --watch`: redraws the queues on a terminal; without one, prints a line per change."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from hermes_jobs.client.queues import LiveWorker, QueueLoad, QueueStats, age, queues_of
from hermes_jobs.interfaces.cli.moments import to_local
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.interfaces.cli.stdio import has_reader

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

EVERY = 1.0  # seconds
MAX_POLLS = 30  # polls in the sparkline
BLOCKS = " ▁▂▃▄▅▆▇█"


def watch(read: Callable[[], QueueStats], *, as_json: bool) -> None:
    """Poll every second until Ctrl-C. Without a terminal, and as JSON, only changes are printed."""
    try:
        if as_json or not sys.stdout.isatty():
            _print_changes(read, as_json=as_json)
        else:
            _draw(read)
    except KeyboardInterrupt:
        return


def _print_changes(read: Callable[[], QueueStats], *, as_json: bool) -> None:
    previous: object = None
    while has_reader():
        load = read()
        if (now := _without_ages(load)) != previous:
            previous = now
            _print_change(load, as_json=as_json)
            sys.stdout.flush()
        time.sleep(EVERY)


def _print_change(load: QueueStats, *, as_json: bool) -> None:
    text = summary_line(load, datetime.now(UTC))
    print_result(lambda: load, lambda: click.echo(text), as_json=as_json)


def _without_ages(load: QueueStats) -> object:
    """The compared part: the counts, and the live workers."""
    queues = [(queue.name, queue.waiting, queue.running, queue.later) for queue in load.queues]
    return queues, [(worker.name, worker.running) for worker in (*load.workers, *load.others)]


def summary_line(load: QueueStats, now: datetime) -> str:
    """The queues that are not empty, on one line."""
    busy = [
        f"{queue.name} {queue.waiting} waiting{_oldest(queue)}, {queue.running} running"
        for queue in load.queues
        if queue.waiting or queue.running
    ]
    alive = f"{len(load.workers)} worker{'s' * (len(load.workers) != 1)}"
    return f"{to_local(now):%H:%M:%S}  {'; '.join([*(busy or ['no steps are waiting or running']), alive])}"


def _oldest(queue: QueueLoad) -> str:
    return "" if queue.oldest_seconds is None else f" (oldest {age(queue.oldest_seconds)})"


def _draw(read: Callable[[], QueueStats]) -> None:
    from rich.console import Console
    from rich.live import Live

    depths: dict[str, deque[int]] = {}
    with Live(console=Console(highlight=False), auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            load = read()
            for queue in load.queues:
                depths.setdefault(queue.name, deque(maxlen=MAX_POLLS)).append(queue.waiting + queue.running)
            live.update(screen(load, depths), refresh=True)
            time.sleep(EVERY)


def screen(load: QueueStats, depths: dict[str, deque[int]]) -> RenderableType:
    """Both tables, with the depths of the last polls."""
    from rich.console import Group
    from rich.text import Text

    workers: RenderableType = Text("No workers are alive. `hermes-jobs up` starts one.", style="yellow")
    if load.workers or load.others:
        processes = (*load.workers, *load.others)
        workers = _table(
            ("WORKER", "RUNNING", "SEEN", "QUEUES"), map(_worker, processes), left_aligned=(0, 2, 3)
        )
    headers = ("QUEUE", "WAITING", "OLDEST", "RUNNING", "LATER", "DEPTH")
    queues = _table(
        headers, (_queue(queue, depths[queue.name]) for queue in load.queues), left_aligned=(0, 5)
    )
    return Group(queues, "", workers, Text("Ctrl-C leaves.", style="dim"))


def _queue(queue: QueueLoad, depth: Sequence[int]) -> Sequence[Text]:
    from rich.text import Text

    busy = "bold" if queue.waiting or queue.running else "dim"
    return [
        Text(queue.name, style=busy),
        Text(str(queue.waiting), style="yellow" if queue.waiting else "dim"),
        Text(age(queue.oldest_seconds)),
        Text(str(queue.running), style="cyan" if queue.running else "dim"),
        Text(str(queue.later), style="" if queue.later else "dim"),
        Text(sparkline(depth), style="cyan"),
    ]


def _worker(worker: LiveWorker) -> Sequence[Text]:
    from rich.text import Text

    cells = (
        worker.name,
        str(worker.running),
        f"{age(round(worker.seen_seconds_ago))} ago",
        queues_of(worker),
    )
    return [Text(cell) for cell in cells]


def _table(headers: Sequence[str], rows: Iterable[Sequence[Text]], left_aligned: Sequence[int]) -> Table:
    """Columns of minimum width; the last one gets the rest."""
    from rich.table import Table

    cells = list(rows)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for index, header in enumerate(headers):
        is_last = index == len(headers) - 1
        table.add_column(
            header,
            justify="left" if index in left_aligned else "right",
            no_wrap=True,
            overflow="ellipsis",
            min_width=None if is_last else max([len(header), *(row[index].cell_len for row in cells)]),
        )
    for row in cells:
        table.add_row(*row)
    return table


def sparkline(values: Sequence[int]) -> str:
    """A character per value; zero is blank, and every other value is visible."""
    top = max(values, default=0)
    if not top:
        return ""
    return "".join(BLOCKS[max(1, round(8 * value / top))] if value else " " for value in values)
