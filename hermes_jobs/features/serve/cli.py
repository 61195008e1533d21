"""`hermes-jobs serve` and `hermes-jobs open`."""

from __future__ import annotations

import signal
import socket
import webbrowser
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import IntParam

if TYPE_CHECKING:
    from hermes_jobs.settings.sections.processes import ServeSettings

SECRET, PROXY_SECRET = "SERVE_HASHED_PASSWORD", "SERVE_PROXY_SECRET"
GRACE = 3  # seconds that open answers may take when it stops


@command(epilog=example("hermes-jobs serve", "hermes-jobs serve --port 8000"))
@click.option("--port", type=IntParam(1, 65_535), metavar="P", help="Port.  [default: serve.port]")
@click.option(
    "--host", metavar="HOST", help="Address to listen on.  [default: serve.host, which is loopback]"
)
@click.option("--set-password", is_flag=True, help="Ask for a password, store its hash in .env, and end.")
def serve(context: CliContext, port: int | None, host: str | None, set_password: bool) -> None:
    """Serve the web pages until Ctrl-C: what waits for you, turns, sessions, schedules, memory, usage.

    It prints a link that signs a browser in once; `hermes-jobs open` makes another. Other addresses than
    loopback need a password, or a proxy that signs people in (serve.trusted_proxy_header). Turns are run by
    workers: `hermes-jobs up` starts them, and this with them where serve.enabled is set.
    """
    from msgspec.structs import replace

    if set_password:
        _store_password(context)
        return
    settings = context.settings.serve
    settings = replace(settings, port=port or settings.port, host=host or settings.host)
    _require_sign_in(context, settings)
    _run(context, settings)


@command("open", epilog=example("hermes-jobs open", "hermes-jobs open --print"))
@click.option("--print", "prints", is_flag=True, help="Print the link instead of opening it.")
def open_page(context: CliContext, prints: bool) -> None:
    """Open the web pages in a browser, which is signed in by a link that works once, for five minutes."""
    from hermes_jobs.features.serve.sign_in import read_running

    running = read_running(context.settings.paths)
    if running is None:
        hint = "Start it: hermes-jobs serve, or serve.enabled and hermes-jobs up."
        raise Rejected("Nothing serves the web pages of this home.", kind="usage", hint=hint)
    link = running.link()
    if prints or not webbrowser.open(link):
        click.echo(link)


def _store_password(context: CliContext) -> None:
    from argon2 import PasswordHasher

    from hermes_jobs.settings.env_file import set_secret

    password = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    if len(password) < 12:
        raise Rejected("The password is too short: at least 12 characters.", kind="usage")
    set_secret(context.settings.paths.home, SECRET, PasswordHasher().hash(password))
    note("Stored in .env. A `serve` that runs takes it when it starts again.")


def _require_sign_in(context: CliContext, settings: ServeSettings) -> None:
    """Raise `Misconfigured` where others could reach it, and nothing would sign them in."""
    from hermes_jobs.features.serve.sign_in import SECRET_HEADER

    secrets = context.settings.secrets
    if settings.trusted_proxy_header and not secrets.get(PROXY_SECRET):
        raise Misconfigured(
            f"serve.trusted_proxy_header needs the secret {PROXY_SECRET}: anybody on this machine can send a "
            "header, also a command of the agent.",
            hint=f"Run hermes-jobs config set {PROXY_SECRET}, and have the proxy send it as {SECRET_HEADER}.",
        )
    if _is_loopback(settings.host) or settings.trusted_proxy_header or secrets.get(SECRET):
        return
    raise Misconfigured(
        f"On {settings.host} the web pages need a password: others can reach that address.",
        hint="Run hermes-jobs serve --set-password, or set serve.trusted_proxy_header or another serve.host.",
    )


def _exposure(settings: ServeSettings) -> Iterator[str]:
    """What somebody on the network could do with an address that others reach."""
    if _is_loopback(settings.host):
        return
    if not (settings.public_url or "").startswith("https://"):
        yield (
            f"On {settings.host} this speaks plain HTTP: who is in between reads passwords, cookies and API "
            "keys. Put a proxy with HTTPS before it, and set serve.public_url to its https:// address."
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _run(context: CliContext, settings: ServeSettings) -> None:
    import uvicorn

    from hermes_jobs.features.serve.app import make_app
    from hermes_jobs.features.serve.sign_in import Running, SignIn
    from hermes_jobs.features.serve.site import Site
    from hermes_jobs.interfaces.cli.logging_setup import log_to_stderr
    from hermes_jobs.system.guarded_process import end_with_guard

    application = context.application
    log_to_stderr(context)
    end_with_guard(context.environ)
    listening = _listen(settings)
    shown = "127.0.0.1" if settings.host == "0.0.0.0" else settings.host
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{settings.port}"
    running = Running.begin(url)
    secrets = application.settings.secrets
    sign_in = SignIn(
        application.settings.paths, running, settings, secrets.get(SECRET), secrets.get(PROXY_SECRET)
    )
    site = Site(application, settings, sign_in)
    config = uvicorn.Config(
        make_app(site),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=32 * 1024,
        ws="none",
    )
    for number in (signal.SIGINT, signal.SIGTERM):  # uvicorn raises them again once it has stopped
        signal.signal(number, lambda _number, _frame: None)
    running.publish(application.settings.paths)
    for warning in _exposure(settings):
        note(f"Warning: {warning}")
    note(f"Serving {url}; Ctrl-C ends it. This link signs a browser in, once, within five minutes:")
    note(f"  {running.link()}")
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        running.withdraw(application.settings.paths)


def _listen(settings: ServeSettings) -> socket.socket:
    """A socket that listens. Raises `Misconfigured`."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise Misconfigured(
            f"The web pages cannot be served at {settings.host}:{settings.port}: {error.strerror or error}.",
            hint="Choose another port with --port, or serve.port.",
        ) from error
    return listening
