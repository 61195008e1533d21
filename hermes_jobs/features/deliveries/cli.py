"""`hermes-jobs inbox`: unread answers, and those that could not be delivered to their targets."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from hermes_jobs.features.deliveries import api
from hermes_jobs.features.deliveries.tables import DeliveryView
from hermes_jobs.features.schedules.rules.schedule import SOURCE
from hermes_jobs.features.schedules.tables import select_schedules
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.doctor.checks import verifications
from hermes_jobs.interfaces.cli.id_completion import complete_delivery
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.notices import waiting_lines
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note, print_heading, print_text
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource, print_result
from hermes_jobs.interfaces.cli.table import Column, moment_column
from hermes_jobs.interfaces.cli.turns.delivered_files import delivered_lines
from hermes_jobs.kernel.views.views import Views
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hermes_jobs.bootstrap import Application


@group(epilog=example("hermes-jobs inbox list", "hermes-jobs inbox read"))
def inbox() -> None:
    """Answers and questions that wait for you: list them, read them.

    Answers that could not be delivered to their target are here, too, with the reason.
    """


@inbox.command("list", epilog=example("hermes-jobs inbox list --all"))
@click.option("--all", "everything", is_flag=True, help="Include read and sent deliveries.")
@limit_option("deliveries, newest first")
def list_inbox(context: CliContext, everything: bool, limit: int, as_json: Json) -> None:
    """List unread answers, and calls that wait for approval.

    Newest first; then calls that wait, each with the command that answers it.
    """
    deliveries = api.deliveries(context.application, inbox=not everything, limit=limit)
    named = deliveries if as_json else _named(context.application, deliveries)
    DELIVERIES.print_list(named, as_json=as_json, empty="No deliveries." if everything else "")
    _note_questions(context.application.views)
    for waiting in verifications(context.application):
        note(waiting.message)
    for line in waiting_lines(context.application):
        note(line)


def _named(application: Application, deliveries: Sequence[DeliveryView]) -> Sequence[DeliveryView]:
    """The deliveries with the names of schedules in the place of their ids."""
    schedules = application.views.read(select_schedules, removed=True)
    names = {f"{SOURCE}{schedule.id}": schedule.plan.name or schedule.id for schedule in schedules}
    return [replace(delivery, source=names.get(delivery.source, delivery.source)) for delivery in deliveries]


def _note_questions(views: Views) -> None:
    """Print the calls that wait for a user, sub-agents' with their paths, and how to answer."""
    from hermes_jobs.interfaces.cli.turns.tree import note_waiting

    waiting_turns = (turn for turn in views.turns(status="waiting") if turn.waits_until is None)
    trees = (views.tree(asker.id) for asker in waiting_turns)
    for tree in {tree.turn.id: tree for tree in trees}.values():
        note_waiting(tree)


@inbox.command("read", epilog=example("hermes-jobs inbox read", "hermes-jobs inbox read dt3k9"))
@click.argument("deliveries", type=NonEmpty(), metavar="[ID]...", nargs=-1, shell_complete=complete_delivery)
@limit_option("deliveries, the oldest", default=None)
def read_inbox(context: CliContext, deliveries: tuple[str, ...], limit: int | None, as_json: Json) -> None:
    """Print unread answers, oldest first, and mark them as read.

    With IDs (or unique prefixes), only those, even if they were read before.
    """
    application = context.application
    if deliveries:
        chosen_deliveries = tuple(dict.fromkeys(api.delivery(application, name) for name in deliveries))
    else:
        chosen_deliveries = api.deliveries(application, inbox=True)[::-1]
    chosen_deliveries = chosen_deliveries[:limit]

    def print_text() -> None:
        for number, delivery in enumerate(chosen_deliveries):
            _print_delivery(application, delivery, first=number == 0)

    text = print_text if chosen_deliveries else DELIVERIES.empty
    print_result(lambda: chosen_deliveries, text, as_json=as_json)
    sys.stdout.flush()  # unprinted answers are not marked as read
    api.mark_as_read(application, chosen_deliveries)


@inbox.command("show", epilog=example("hermes-jobs inbox show dt3k9"))
@click.argument("delivery", type=NonEmpty(), metavar="ID", shell_complete=complete_delivery)
@limit_option("lines of the answer", default=None)
def show_delivery(context: CliContext, delivery: str, limit: int | None, as_json: Json) -> None:
    """Print an answer and where it went, without marking it as read."""
    found = api.delivery(context.application, delivery)
    if limit is not None:
        found = replace(found, text="\n".join(found.text.splitlines()[:limit]))

    def print_text() -> None:
        _print_delivery(context.application, found, first=True)
        note(f"{found.target}: {delivery_status(found)}")

    print_result(lambda: found, print_text, as_json=as_json)


def delivery_status(delivery: DeliveryView) -> str:
    """The delivery's status, in words."""
    if delivery.status == "waiting" and delivery.retry_at is not None and not delivery.attempts:
        return f"waits until {format_time(delivery.retry_at, seconds=True)}: {delivery.message}"
    if delivery.status == "waiting" and delivery.retry_at is not None:
        failed = pluralize(delivery.attempts, "attempt")
        return f"{failed} failed, next try {format_time(delivery.retry_at, seconds=True)}: {delivery.message}"
    if delivery.status == "waiting":
        return "on its way"
    if delivery.has_failed:
        return (
            f"failed, and {'read' if delivery.status == 'read' else 'left'} in the inbox: {delivery.message}"
        )
    return delivery.status


def _message_of(delivery: DeliveryView) -> str:
    failed = delivery.status in {"waiting", "failed"} and delivery.message
    return f"{delivery.message} — {delivery.text}" if failed else delivery.text


DELIVERIES: Resource[DeliveryView] = Resource(
    (
        Column("DELIVERY", lambda item: item.delivery),
        Column("STATUS", lambda item: item.status),
        moment_column("WHEN", lambda item: item.requested_at),
        Column("TARGET", lambda item: item.target, rank=2),
        Column("FROM", lambda item: item.source, rank=1),
        Column("TEXT", _message_of, is_main=True),
    ),
    "Nothing unread.",
    by_day=True,
)


def _print_delivery(application: Application, delivery: DeliveryView, *, first: bool) -> None:
    if not first:
        click.echo()
    about = (
        delivery.source,
        format_time(delivery.requested_at),
        "" if delivery.ok else "failed",
        delivery.delivery,
    )
    print_heading(" · ".join(word for word in about if word))
    if delivery.status == "failed":
        note(f"It could not be delivered to {delivery.target}: {delivery.message}")
    print_text(delivery.text)
    if delivery.turn is not None:
        for line in delivered_lines(delivery.turn, application.views.turn(delivery.turn).files):
            note(line)
