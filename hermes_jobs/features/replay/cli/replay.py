"""`hermes-jobs turns replay`: repeats the model calls of a turn, without running tools."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.memory import events as memory_events
from hermes_jobs.features.replay import events as replay_events
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.id_completion import complete_turn
from hermes_jobs.interfaces.cli.options import Json, budget_option, example, model_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import IntParam, NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.replay.rules.replay import Replay

MAX_SAMPLES = 100


@command(
    "replay",
    epilog=example(
        "hermes-jobs turns replay t3k9 -m gpt-6.1-terra",
        "hermes-jobs turns replay last --without memory:7 -n 3",
        "hermes-jobs turns replay t3k9 --system prompt.txt --follow --json",
    ),
)
@click.argument("given", metavar="ID", type=NonEmpty(), shell_complete=complete_turn)
@model_option("Ask this model instead.")
@click.option(
    "--system",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use the text of FILE as the system prompt.",
)
@click.option(
    "--without",
    metavar="memory:N|skill:NAME",
    type=NonEmpty(),
    multiple=True,
    help="Leave out the entry of write N of `memory log`, or a skill. Repeatable.",
)
@click.option(
    "-n",
    "samples",
    type=IntParam(min=1, max=MAX_SAMPLES),
    metavar="N",
    default=1,
    show_default=True,
    help="Send each call N times.",
)
@click.option(
    "--follow",
    is_flag=True,
    help="Continue from the new answers, with recorded results for equal tool calls.",
)
@click.option("--allow-reads", is_flag=True, help="With --follow: run tools that only read.")
@budget_option("Most it may cost.")
def replay_turn(  # noqa: PLR0913, PLR0917 - its options
    context: CliContext,
    given: str,
    model: str | None,
    system: Path | None,
    without: tuple[str, ...],
    samples: int,
    follow: bool,
    allow_reads: bool,
    budget: float | None,
    as_json: Json,
) -> int:
    """Replay a turn's model calls, and compare the answers.

    Each call is sent again with the history that it had.

    No tool runs, and the session does not change. With --follow, the replay continues from the new answers.
    It ends at a tool call without a recorded result, unless the tool only reads and --allow-reads is given.
    ID may also be the id of a replay: its missing calls are made, and all are shown.
    """
    from hermes_jobs.features.replay.replays import require_effect
    from hermes_jobs.features.replay.rules.replay import stream_of
    from hermes_jobs.kernel.streams.decision import append

    if allow_reads and not follow:
        raise click.UsageError("--allow-reads requires --follow.")
    application = context.application
    replay_id = find_replay(application, given)
    if replay_id is not None:
        if model or system or without or samples > 1 or follow:
            raise click.UsageError(f"{given} is a replay: its calls are fixed. Omit the options.")
        return _go_on(context, replay_id, budget, as_json=as_json)
    model_name = context.settings.models.aliases.get(model, model) if model else ""
    turn = recorded_turn(application, given)
    variant = replay_events.Variant(
        name="replay",
        model=model_name or "",
        system=None if system is None else read_prompt(system),
        without=tuple(left_out(application, target) for target in without),
    )
    require_effect(application.replayed_requests, [turn], variant)
    application.check(model_name or None)
    planned = replay_events.ReplayPlanned(
        replay=application.ids.name("p"),
        turns=(turn,),
        variants=(variant,),
        samples=samples,
        follow=follow,
        allow_reads=allow_reads,
        budget_usd=budget,
    )
    stream = stream_of(planned.replay)
    application.engine().change(append(stream, planned), "turns replay")
    note(f"Replay {planned.replay}: {pluralize(len(turn.calls), 'call')} of turn {turn.turn}.")
    return _finish(context, stream, as_json=as_json)


def find_replay(application: Application, text: str) -> str | None:
    """The stream of the replay with that id or id prefix; None if there is none.

    Raises `Rejected` if several have the prefix.
    """
    from hermes_jobs.features.replay.rules.replay import PREFIX

    streams = [head.stream for head in application.log.streams(PREFIX + text)]
    if len(streams) > 1 and PREFIX + text not in streams:
        raise Rejected(
            f"{text!r} fits several replays: {', '.join(stream.removeprefix(PREFIX) for stream in streams)}.",
            kind="ambiguous",
        )
    return streams[0] if streams else None


def recorded_turn(application: Application, text: str) -> replay_events.ReplayedTurn:
    """The turn of an id, with its answered calls. Raises `Rejected`."""
    from hermes_jobs.features.replay.replays import replayed_turn
    from hermes_jobs.kernel.views.turn_events import events_of

    views, log = application.views, application.log
    turn = views.turn(views.find_turn(text))
    return replayed_turn(application.engine().sessions, turn.id, turn.stream, events_of(log, turn))


def read_prompt(file: Path) -> str:
    """Read a system prompt. Raises `Rejected` if the file is empty or not text."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Rejected(f"{file} cannot be read as text: {reason}.", kind="usage") from error
    if not text.strip():
        raise Rejected(f"{file} is empty.", kind="usage")
    return text


def left_out(application: Application, target: str) -> replay_events.Exclusion:
    """Parse `memory:N` or `skill:NAME`. Raises `Rejected`."""
    kind, _, name = target.partition(":")
    if kind == "skill" and name:
        return replay_events.Exclusion(kind="skill", name=name)
    if kind != "memory" or not name.isdecimal() or not int(name):
        raise Rejected(
            f"{target!r} is not something that can be left out.",
            kind="usage",
            hint="Use memory:N, where N is a number of `hermes-jobs memory log`, or skill:NAME.",
        )
    writes = application.memory.writes()
    if int(name) > len(writes):
        hint = f"`hermes-jobs memory log` lists 1 to {len(writes)}." if writes else "There is none yet."
        raise Rejected(f"There is no write {name} of the memory.", kind="usage", hint=hint)
    event = writes[int(name) - 1].event
    if not isinstance(event, memory_events.MemoryAdded | memory_events.MemoryReplaced):
        raise Rejected(f"Write {name} of the memory added no entry.", kind="usage")
    return replay_events.Exclusion(kind="memory", name=name, text=event.content)


def _go_on(context: CliContext, stream: str, budget: float | None, *, as_json: bool) -> int:
    from hermes_jobs.features.replay.rules.replay import resume

    context.application.engine().change(resume(stream, "user", budget), "turns replay")
    return _finish(context, stream, as_json=as_json)


def _finish(context: CliContext, stream: str, *, as_json: bool) -> int:
    """Make the open calls, and print all; returns the exit code."""
    from hermes_jobs.features.replay.cli.replay_format import print_replay, replay_json
    from hermes_jobs.interfaces.cli.exit_codes import FAILED

    name = stream.partition("-")[2]
    replay = ask(context, stream, f"hermes-jobs turns replay {name}")
    print_result(
        partial(replay_json, context.application, replay),
        partial(print_replay, context.application, replay),
        as_json=as_json,
    )
    failed = sum(hasattr(outcome, "kind") for outcome in replay.outcomes.values())
    if replay.stopped is not None:
        note(f"It was stopped: {replay.stopped.message}")
        note(f"It continues with: hermes-jobs turns replay {name} --budget USD")
    elif failed:
        note(f"{pluralize(failed, 'call')} failed. To ask again: hermes-jobs turns replay {name}")
    return FAILED if failed or replay.stopped is not None else 0


def ask(context: CliContext, stream: str, again: str) -> Replay:
    """Make calls in this process until the replay is done, or waits for a budget; live workers help. After a
    Ctrl-C the command `again` continues."""
    from hermes_jobs.features.replay.rules.replay import Replay
    from hermes_jobs.interfaces.cli.logging_setup import log_to_file
    from hermes_jobs.runtime.inline_worker import InlineWorker

    application = context.application
    engine = application.engine()

    def state() -> Replay:
        replay_state = engine.state(stream)
        assert isinstance(replay_state, Replay), f"{stream} is not a replay"
        return replay_state

    def is_over() -> bool:
        now = state()
        return now.is_done or now.waiting is not None

    if not is_over():
        log_to_file(context, application.settings.paths.logs)
        try:
            with InlineWorker(application) as worker:
                worker.work(is_over, stream=stream)
        except KeyboardInterrupt:
            note(f"Left for later: {again}")
            raise
    return state()
