"""`hermes-jobs push`: the browsers that are notified."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import group
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column, moment_column

if TYPE_CHECKING:
    from hermes_jobs.features.push.api import BrowserView


@group(epilog=example("hermes-jobs push list", "hermes-jobs push test"))
def push() -> None:
    """Browsers that are notified: the target `push` of deliveries.

    A browser subscribes on the web pages, by “Notify this browser”: hermes-jobs serve.
    """


@push.command("list", epilog=example("hermes-jobs push list"))
@limit_option("browsers, in the order in which they subscribed")
def list_browsers(context: CliContext, limit: int, as_json: Json) -> None:
    """List the browsers that are notified."""
    from hermes_jobs.features.push import api

    BROWSERS.print_list(api.browsers(context.application)[:limit], as_json=as_json)


@push.command("remove", epilog=example("hermes-jobs push remove 3f0c9d2ab81e"))
@click.argument("browser", type=NonEmpty(), metavar="ID")
def remove_browser(context: CliContext, browser: str, as_json: Json) -> None:
    """Notify a browser no more, and forget its address."""
    from hermes_jobs.features.push import api

    api.unsubscribe(context.application, browser, api.USER)
    if as_json:
        print_json({"browser": browser, "removed": True})
    else:
        note(f"The browser {browser} is not notified any more.")


@push.command("test", epilog=example("hermes-jobs push test"))
def test_browsers(context: CliContext, as_json: Json) -> None:
    """Notify every subscribed browser now, and print the results."""
    from hermes_jobs.features.attachments.api import UNCANCELLED
    from hermes_jobs.features.deliveries.api import DeliveryError
    from hermes_jobs.features.push import api
    from hermes_jobs.features.push.channel import Notification, PushChannel

    found = api.browsers(context.application)
    if not found:
        raise Rejected(api.NOBODY, kind="usage")
    channel = PushChannel(context.application)
    notification = Notification("hermes-jobs", "Notifications arrive in this browser.", "/", "test")
    results = {}
    for browser in found:
        try:
            is_sent = channel.send(browser, notification, UNCANCELLED)
            results[browser.browser] = "sent" if is_sent else "its subscription is over: removed"
        except DeliveryError as error:
            results[browser.browser] = error.message
    if as_json:
        print_json([{"browser": name, "result": result} for name, result in results.items()])
    else:
        for name, result in results.items():
            click.echo(f"{name}  {result}")
    if "sent" not in results.values():
        raise Rejected("No browser was notified.")


BROWSERS: Resource[BrowserView] = Resource(
    (
        Column("BROWSER", lambda view: view.browser),
        Column("SERVICE", lambda view: view.service, is_main=True),
        Column("BY", lambda view: view.by),
        moment_column("SINCE", lambda view: view.subscribed_at),
    ),
    "No browser is notified. “Notify this browser” on the web pages subscribes one.",
)
