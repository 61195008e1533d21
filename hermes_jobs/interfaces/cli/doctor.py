"""`hermes-jobs doctor`: what is configured, reachable and alive, and what to do about what is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import USAGE
from hermes_jobs.interfaces.cli.options import example, json_option
from hermes_jobs.interfaces.cli.output import one_line, print_json

if TYPE_CHECKING:
    from hermes_jobs.interfaces.cli.checks import Finding

MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}


@click.command(epilog=example("hermes-jobs doctor", "hermes-jobs doctor --live"))
@click.option("--live", is_flag=True, help="Also try the model with three small calls.")
@json_option
@click.pass_context
def doctor(click_context: click.Context, live: bool, as_json: bool) -> None:
    """Check the home, configuration, model, log, broker, workers, beat, Flower, traces, commands
    and disk.

    The exit code is 0 unless something has failed; warnings name what is missing or weaker than it could be.

    --live says of the configured model whether it answers, streams, calls tools, takes its reasoning back,
    caches prompts and reports usage, whether its price is known, and what these calls cost.
    """
    context = click_context.ensure_object(CliContext)
    findings: list[Finding] = []
    for finding in examine(context, live=live):
        findings.append(finding)
        if not as_json:
            _print(finding, context)
    if as_json:
        shown = [
            {name: context.redact(getattr(each, name)) for name in ("check", "status", "message", "hint")}
            for each in findings
        ]
        print_json({"ok": not _failed(findings), "checks": shown})
    failed = _failed(findings)
    if failed:
        click_context.exit(failed[0].code)


def examine(context: CliContext, *, live: bool = False) -> Iterator[Finding]:
    """Every check's findings, as they come.

    Without a readable configuration there is only that; without a log, what can be told without one.
    """
    from hermes_jobs.errors import Misconfigured
    from hermes_jobs.interfaces.cli import checks, model_checks
    from hermes_jobs.interfaces.cli.gateway_checks import telegram
    from hermes_jobs.interfaces.cli.memory_checks import memory
    from hermes_jobs.interfaces.cli.memory_provider import provider
    from hermes_jobs.interfaces.cli.trace_checks import traces

    try:
        settings = context.settings
        application = context.application
    except Misconfigured as error:
        yield checks.Finding(
            check="config", status="fail", message=error.message, hint=error.hint, code=USAGE
        )
        return
    yield from checks.home(settings)
    yield model_checks.model(settings)
    yield from model_checks.auxiliary(settings)
    log = checks.log(application)
    yield log
    yield checks.broker(settings)
    if log.status != "fail":
        if live:
            yield from model_checks.live(application)
        yield from model_checks.caching(application)
        yield from checks.pauses(application)
        yield from checks.budgets(application)
        yield from memory(application)
        yield from provider(application)
        yield checks.context(application)
        yield from checks.toolsets(application)
        yield checks.workers(application)
        yield checks.beat(application)
        yield from telegram(application)
    yield checks.flower(settings)
    yield traces(context.environ)
    yield checks.commands(context.environ)
    yield checks.sandbox(settings)
    yield checks.disk(settings)


def _failed(findings: Sequence[Finding]) -> Sequence[Finding]:
    return [each for each in findings if each.status == "fail"]


def _print(finding: Finding, context: CliContext) -> None:
    mark, colour = MARKS[finding.status]
    message = one_line(context.redact(finding.message))
    click.echo(f"{click.style(f'{mark:<4}', fg=colour)}  {finding.check:<14}  {message}")
    if finding.hint:
        click.echo(f"{'':22}{one_line(context.redact(finding.hint))}")
