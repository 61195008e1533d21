"""`hermes-jobs mcp login` and `logout`: logins at MCP servers that run elsewhere."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.cli.completion import complete_mcp_server
from hermes_jobs.features.mcp.cli.format import known_row, row_of, server_json, try_server
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import FloatParam, NonEmpty
from hermes_jobs.interfaces.cli.resource import print_result

if TYPE_CHECKING:
    from hermes_jobs.features.mcp.authorization import LoginRequest
    from hermes_jobs.features.mcp.logins import Login
    from hermes_jobs.features.mcp.oauth_grants import DeviceCode

WAIT_SECONDS = 300.0


@command(
    "login",
    epilog=example("hermes-jobs mcp login issues", "hermes-jobs mcp login issues --paste"),
)
@click.argument("name", metavar="NAME", type=NonEmpty(), shell_complete=complete_mcp_server)
@click.option(
    "--paste", is_flag=True, help="The browser is on another machine: paste the address that it ends at."
)
@click.option("--device", is_flag=True, help="Log in by a device code, if the server supports it.")
@click.option("--browser/--no-browser", default=True, help="Open a browser if there is one.")
@click.option(
    "--timeout",
    type=FloatParam(),
    default=WAIT_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time to wait for the browser.",
)
def log_in(
    context: CliContext, name: str, paste: bool, device: bool, browser: bool, timeout: float, as_json: Json
) -> None:
    """Log in to a remote server by OAuth.

    The tokens are stored in the home (mode 600) and renewed when they expire.
    """
    if paste and device:
        raise click.UsageError("Give --paste or --device, not both.")
    known_row(context, name)
    mcp = context.application.mcp
    place = mcp.launches.login_at(name)
    from hermes_jobs.features.mcp.authorization import LoginRequest

    wanted = LoginRequest(server=name, url=place.url, oauth=place.oauth, before=place.file.read())
    opens = browser and _has_browser(context.environ)
    login = asyncio.run(_login(wanted, paste=paste, device=device, opens=opens, seconds=timeout))
    with place.file.locked():
        place.file.write(login)
    if not as_json:
        note(f"Logged in to {name} at {login.issuer}{f' ({login.scope})' if login.scope else ''}.")
    try_server(context, name, as_json=as_json)


@command("logout", epilog=example("hermes-jobs mcp logout issues"))
@click.argument("name", metavar="NAME", type=NonEmpty(), shell_complete=complete_mcp_server)
def log_out(context: CliContext, name: str, as_json: Json) -> None:
    """Revoke and delete the login for a server.

    If the authorization server does not support revocation, the tokens are only deleted here.
    """
    known_row(context, name)
    file = context.application.mcp.launches.login_at(name).file
    with file.locked():
        login = file.read()
        if login is None:
            raise Rejected(f"There is no login at {name}.", kind="mcp")
        file.remove()
    remaining = _not_revoked(login)
    print_result(
        lambda: {**server_json(row_of(context, name)), "revoked": not remaining},
        f"Logged out of {name}."
        + (f" Its tokens may still be valid there: {remaining}." if remaining else ""),
        as_json=as_json,
    )


async def _login(wanted: LoginRequest, *, paste: bool, device: bool, opens: bool, seconds: float) -> Login:
    from hermes_jobs.features.mcp.authorization import log_in_by_code, log_in_by_device
    from hermes_jobs.features.mcp.redirects import Loopback, Paste

    if device:
        return await log_in_by_device(wanted, _show_code)
    uri = wanted.oauth.redirect_uri or ""
    if paste:
        return await log_in_by_code(wanted, Paste(uri, _show_address, _ask))
    if uri.startswith("https:"):
        raise Rejected(
            f"Nothing listens here for {uri}, the redirect_uri of {wanted.server}.",
            kind="usage",
            hint=f"hermes-jobs mcp login {wanted.server} --paste",
        )

    def show(address: str) -> None:
        _show_address(address)
        if opens and webbrowser.open(address):
            note("A browser has been asked to open it.")
        note(
            f"Waiting for the login. Is the browser elsewhere? hermes-jobs mcp login {wanted.server} --paste"
        )

    async with Loopback(uri, show, seconds) as redirect:
        return await log_in_by_code(wanted, redirect)


def _has_browser(environ: Mapping[str, str]) -> bool:
    """Whether there is one that needs no terminal."""
    return sys.platform == "darwin" or any(
        environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    )


def _show_address(address: str) -> None:
    note("Open this address in a browser and log in:")
    click.echo(f"\n{address}\n", err=True)


def _show_code(code: DeviceCode) -> None:
    from hermes_jobs.features.mcp.catalogue import clean

    note(f"Open {clean(code.verification_uri)} in a browser and enter this code:")
    click.echo(f"\n{clean(code.user_code)}\n", err=True)
    if code.verification_uri_complete:
        note(f"Or open {clean(code.verification_uri_complete)}")
    note("Waiting for the login.")


def _ask(text: str) -> str:
    answer: str = click.prompt(text, err=True)
    return answer


def _not_revoked(login: Login) -> str:
    """Have the tokens revoked (RFC 7009); why they are not, "" where they are."""
    from hermes_jobs.features.mcp.bearer import NotRenewed, post

    if not login.revocation_endpoint:
        return "its authorization server revokes none"
    token = login.refresh_token or login.access_token
    hint = "refresh_token" if login.refresh_token else "access_token"
    try:
        response = post(login, login.revocation_endpoint, {"token": token, "token_type_hint": hint})
    except NotRenewed as error:
        return str(error)
    status = f"the authorization server answered {response.status_code}"
    return "" if response.status_code == 200 else status
