"""A submitted turn: waited for, or, with `--no-wait`, its id printed."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import OutputOptions, WaitOptions
from hermes_jobs.interfaces.cli.output import note, print_event, print_json
from hermes_jobs.kernel.turns.submitted import Submitted


def detach(context: CliContext, submitted: Submitted, options: OutputOptions) -> int:
    """Print the turn's id (or the turn, or its current events), and a note if no worker is alive."""
    if options.form == "text":
        click.echo(submitted.turn)
    else:
        print_current(context, submitted, options)
    if not options.quiet and not context.application.workers.are_live():
        note("No worker is alive: the turn waits until one starts.")
        note(f"  hermes-jobs turns follow {submitted.turn}   runs it here; `hermes-jobs up` starts workers.")
    return 0


def follow_or_detach(
    context: CliContext, submitted: Submitted, waiting: WaitOptions, *, alone: str = ""
) -> int:
    """Wait for the turn, or print its id, as the options say. `alone`: see `follow`."""
    if not waiting.wait:
        return detach(context, submitted, waiting.output)
    from hermes_jobs.interfaces.cli.turns.waiter import follow

    return follow(context, submitted, waiting.output, waiting.timeout, alone=alone)


def print_current(context: CliContext, submitted: Submitted, options: OutputOptions) -> None:
    """The turn as one JSON object, or its events so far, one a line."""
    application = context.application
    if options.form == "json":
        from hermes_jobs.kernel.views.turn_json import turn_json

        print_json(turn_json(application.views.turn(submitted.turn)))
        return
    for recorded in application.log.read(submitted.stream):
        if getattr(recorded.event, "turn", None) == submitted.turn:
            print_event(recorded)
