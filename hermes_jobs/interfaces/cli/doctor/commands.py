"""`hermes-jobs doctor`: checks an installation, and gives a hint for each problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import USAGE
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import one_line, terminal_width, wrap
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding

MARKS = {"ok": ("ok", "green"), "warn": ("warn", "yellow"), "fail": ("FAIL", "red")}
INDENT, LEAST = 22, 20  # columns before the finding, and the least columns for it on a narrow terminal
UNLIMITED = 1_000_000  # columns where the output is not a terminal


@command(epilog=example("hermes-jobs doctor", "hermes-jobs doctor --live"))
@click.option("--live", is_flag=True, help="Also test the model with three small calls, and the web search.")
@click.pass_context
def doctor(click_context: click.Context, live: bool, as_json: Json) -> None:
    """Check the home, configuration, model, log, broker, workers, scheduler, web search, MCP servers,
    Flower, traces, commands and disk.

    The exit code is 0 unless a check failed; warnings name what is missing or could be better.

    --live tests whether the configured model answers, streams, calls tools, accepts its reasoning back,
    caches prompts and reports usage, whether its price is known, and prints what these calls cost. It also
    makes one web search, if a provider is configured.
    """
    context = click_context.ensure_object(CliContext)
    findings: list[DoctorFinding] = []

    def as_object() -> object:
        findings.extend(examine(context, live=live))
        items = [
            {
                name: context.redact(getattr(doctor_finding, name))
                for name in ("check", "status", "message", "hint")
            }
            for doctor_finding in findings
        ]
        return {"ok": not _failed(findings), "checks": items}

    def print_text() -> None:
        for finding in examine(context, live=live):
            findings.append(finding)
            _print(finding, context)

    print_result(as_object, print_text, as_json=as_json)
    failed = _failed(findings)
    if failed:
        click_context.exit(failed[0].code)


def examine(context: CliContext, *, live: bool) -> Iterator[DoctorFinding]:
    """Yield the findings of every check.

    Without a readable configuration that is the only one; without a log, checks that need it are left out.
    """
    from hermes_jobs.errors import Misconfigured
    from hermes_jobs.interfaces.cli.doctor import checks, confinement
    from hermes_jobs.interfaces.cli.doctor import models as model_checks
    from hermes_jobs.interfaces.cli.doctor import processes as process_checks
    from hermes_jobs.interfaces.cli.doctor.finding import fail
    from hermes_jobs.kernel.feature import parts

    try:
        settings = context.settings
        application = context.application
    except Misconfigured as error:
        hint = error.hint
        if checks.is_up(context.environ):
            hint = f"{hint} `hermes-jobs up` continues with what it read before, until this is fixed.".strip()
        yield fail("config", error.message, hint, code=USAGE)
        return
    yield from checks.home(settings)
    yield model_checks.model(settings)
    yield from model_checks.retirement(settings)
    yield from model_checks.auxiliary(settings)
    log = process_checks.log(application)
    yield log
    yield process_checks.broker(settings)
    if log.status != "fail":
        yield from _with_log(application, live=live)
    for checks_of in parts("checks"):
        yield from checks_of(application, live=live)
    yield process_checks.flower(settings)
    yield confinement.commands(context.environ)
    yield confinement.sandbox(settings, context.environ)
    yield from confinement.settings_of_git(context.environ)
    yield checks.disk(settings)


def _with_log(application: Application, *, live: bool) -> Iterator[DoctorFinding]:
    """The checks that need a readable and writable log."""
    from hermes_jobs.features.memory.cli.provider import provider
    from hermes_jobs.interfaces.cli.doctor import checks
    from hermes_jobs.interfaces.cli.doctor import models as model_checks
    from hermes_jobs.interfaces.cli.doctor import processes as process_checks
    from hermes_jobs.interfaces.cli.doctor.gateway import telegram
    from hermes_jobs.interfaces.cli.doctor.memory import memory

    yield from process_checks.features(application)
    if live:
        yield from model_checks.live(application)
    yield from model_checks.caching(application)
    yield from model_checks.refused(application)
    yield from checks.pauses(application)
    yield from checks.budgets(application)
    yield from checks.verifications(application)
    yield from memory(application)
    yield from provider(application)
    yield checks.context(application)
    yield from checks.toolsets(application)
    yield from checks.own_tools(application)
    yield from checks.mcp(application)
    yield process_checks.workers(application)
    yield from process_checks.unreached_brokers(application)
    yield from process_checks.worker_settings(application)
    yield process_checks.scheduler(application)
    yield from telegram(application)


def _failed(findings: Sequence[DoctorFinding]) -> Sequence[DoctorFinding]:
    return [finding for finding in findings if finding.status == "fail"]


def _print(finding: DoctorFinding, context: CliContext) -> None:
    mark, colour = MARKS[finding.status]
    click.echo(f"{click.style(f'{mark:<4}', fg=colour)}  {finding.check:<14}  ", nl=False)
    width = max((terminal_width() or UNLIMITED) - INDENT, LEAST)
    message = [one_line(context.redact(text)) for text in (finding.message, finding.hint) if text]
    click.echo(f"\n{'':{INDENT}}".join(line for text in message for line in wrap(text, width)))
