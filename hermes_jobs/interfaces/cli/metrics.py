"""`hermes-jobs run metrics`: the metrics of a home, in Prometheus' format.

They are read from log and views, so that one endpoint covers all workers.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from hermes_jobs import __version__
from hermes_jobs.client.queues import HeartbeatTracker, QueueStats, read_stats
from hermes_jobs.errors import LogUnavailable, Misconfigured
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import IntParam
from hermes_jobs.kernel.turns.steps import QUEUES_BY_KIND
from hermes_jobs.kernel.views.counts import BOUNDS, ENDED, Counts, Durations
from hermes_jobs.text.tool_names import name_of_tool

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.usage.tables.usage import Spending

OPEN = ("queued", "running", "waiting")
QUEUES = tuple(dict.fromkeys(QUEUES_BY_KIND.values()))
NO_DURATIONS = Durations(count=0, seconds=0.0, below=(0,) * len(BOUNDS))


@command(
    epilog=example(
        "hermes-jobs run metrics | grep queue",
        "hermes-jobs run metrics --port 9464",
        "curl localhost:9464/metrics",
    )
)
@click.option("--port", type=IntParam(1, 65_535), metavar="P", help="Serve on this port until Ctrl-C.")
@click.option(
    "--address", metavar="HOST", help="Address to listen on.  [default: metrics.address, which is loopback]"
)
def metrics(context: CliContext, port: int | None, address: str | None) -> None:
    """Print metrics for Prometheus once, or serve them with --port: queues, workers, turns, tokens, cost.

    `hermes-jobs up` serves them if metrics.port is set. They contain names of models, tools and queues, and
    no conversation text.
    """
    home = HomeMetrics(context.application)
    registry = CollectorRegistry(auto_describe=False)
    if port is None:
        home.watcher.wait_for_heartbeats()
        registry.register(home)
        click.echo(generate_latest(registry).decode(), nl=False)
        return
    registry.register(home)
    _serve(registry, address or context.settings.metrics.address, port)


def _serve(registry: CollectorRegistry, address: str, port: int) -> None:
    try:
        server, thread = start_http_server(port, addr=address, registry=registry)
    except OSError as error:
        raise Misconfigured(
            f"Metrics cannot be served at {address}:{port}: {error.strerror or error}.",
            hint="Choose another port with --port, or metrics.port.",
        ) from error
    note(f"Metrics at http://{address}:{port}/metrics; Ctrl-C ends it.")
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: ended.set())
    try:
        ended.wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class HomeMetrics(Collector):
    """Collects the metrics from log and views. One collection at a time."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._lock = threading.Lock()
        self._counted_at = -1
        self._counted: Sequence[Metric] = ()
        self.watcher = HeartbeatTracker(application)

    def describe(self) -> Iterable[Metric]:
        """Empty, so that registering does not read the log."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All metrics; if the log is unreachable, only that one."""
        with self._lock:
            try:
                families = list(self._families())
            except LogUnavailable:
                families = []
        up = GaugeMetricFamily("hermes_jobs_up", "Whether the log can be read.", value=float(bool(families)))
        yield from (up, *families)

    def _families(self) -> Iterator[Metric]:
        application = self._application
        load = read_stats(application, QUEUES, self.watcher)
        build = GaugeMetricFamily("hermes_jobs_build", "The version of hermes-jobs.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        position = application.log.last_position()
        yield CounterMetricFamily("hermes_jobs_events", "Events in the log.", value=position)
        yield from _queues(load)
        if position != self._counted_at:  # counting a long log takes seconds, and is often unchanged
            views = application.views
            self._counted = (
                *_turns(views.counts(), application.settings.secrets.redact),
                *_spending(views.read(select_spending, by="model")),
            )
            self._counted_at = position
        yield from self._counted


def _queues(load: QueueStats) -> Iterator[Metric]:
    message = {
        "waiting": "Jobs that are due and not claimed.",
        "running": "Jobs under way.",
        "later": "Jobs that are not yet due.",
        "oldest_waiting_seconds": "Age of the oldest due job; 0 if there is none.",
        "workers": "Workers alive that consume the queue.",
    }
    families = {
        name: GaugeMetricFamily(f"hermes_jobs_queue_{name}", text, labels=["queue"])
        for name, text in message.items()
    }
    for queue in load.queues:
        values = {
            "waiting": queue.waiting,
            "running": queue.running,
            "later": queue.later,
            "oldest_waiting_seconds": queue.oldest_seconds or 0.0,
            "workers": sum(queue.name in worker.queues for worker in load.workers),
        }
        for name, value in values.items():
            families[name].add_metric([queue.name], value)
    yield from families.values()
    alive = len(load.workers)
    yield GaugeMetricFamily("hermes_jobs_workers", "Workers alive.", value=alive)


def _turns(counts: Counts, redact: Callable[[str], str]) -> Iterator[Metric]:
    now = GaugeMetricFamily("hermes_jobs_turns", "Turns that have not ended.", labels=["status"])
    for status in OPEN:
        now.add_metric([status], counts.turns.get(status, 0))
    yield now
    durations = HistogramMetricFamily(
        "hermes_jobs_turn_duration_seconds",
        "From a turn's submission, or its last retry, to its end.",
        labels=["status"],
    )
    for status in ENDED:  # also those of no turn: `increase` does not see the first of a series
        turn_durations = counts.durations.get(status, NO_DURATIONS)
        buckets = [*zip(map(str, BOUNDS), turn_durations.below, strict=True), ("+Inf", turn_durations.count)]
        durations.add_metric([status], buckets, sum_value=turn_durations.seconds)
    yield durations
    tools = CounterMetricFamily(
        "hermes_jobs_tool_calls", "Tool calls that have ended.", labels=["tool", "outcome"]
    )
    calls = Counter[tuple[str, str]]()
    for (written, outcome), count in counts.tool_calls.items():
        calls[redact(name_of_tool(written)), outcome] += count
    for (tool, outcome), count in calls.items():
        tools.add_metric([tool, outcome], count)
    yield tools
    open_children = GaugeMetricFamily(
        "hermes_jobs_sub_agents_open", "Sub-agents that have not ended.", labels=["depth"]
    )
    ended = CounterMetricFamily(
        "hermes_jobs_sub_agents", "Sub-agents that have ended, by how.", labels=["depth", "status"]
    )
    for (depth, status), count in counts.children.items():
        if status == "open":
            open_children.add_metric([str(depth)], count)
        else:
            ended.add_metric([str(depth), status], count)
    yield from (open_children, ended)
    yield CounterMetricFamily(
        "hermes_jobs_takeovers", "Attempts that their worker did not finish.", value=counts.takeovers
    )


def _spending(rows: Sequence[Spending]) -> Iterator[Metric]:
    requests = CounterMetricFamily("hermes_jobs_model_requests", "Responses of models.", labels=["model"])
    unpriced = CounterMetricFamily(
        "hermes_jobs_unpriced_requests", "Responses whose price is not known.", labels=["model"]
    )
    tokens = CounterMetricFamily("hermes_jobs_tokens", "Tokens that were used.", labels=["model", "kind"])
    cost = CounterMetricFamily(
        "hermes_jobs_cost_usd", "US dollars, without responses whose price is not known.", labels=["model"]
    )
    for row in rows:
        requests.add_metric([row.key], row.requests)
        unpriced.add_metric([row.key], row.unpriced)
        used = {
            "input": row.usage.input_tokens,
            "output": row.usage.output_tokens,
            "cache_read": row.usage.cache_read_tokens,
            "cache_write": row.usage.cache_write_tokens,
        }
        for kind, count in used.items():
            tokens.add_metric([row.key, kind], count)
        if row.requests > row.unpriced:
            cost.add_metric([row.key], row.known_cost_usd)
    yield from (requests, unpriced, tokens, cost)
