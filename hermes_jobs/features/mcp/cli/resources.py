"""`hermes-jobs mcp resources` and `read`: what servers offer to be read."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.cli.completion import complete_mcp_server, complete_resource
from hermes_jobs.features.mcp.cli.format import known_row
from hermes_jobs.features.mcp.reader import McpContent
from hermes_jobs.features.mcp.resources import McpResource
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.exit_codes import FAILED
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note, one_line, print_json, print_text
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.interfaces.cli.questions.reader import reader_here
from hermes_jobs.interfaces.cli.resource import Resource
from hermes_jobs.interfaces.cli.table import Column

MAX_CONCURRENT = 4


@command("resources", epilog=example("hermes-jobs mcp resources", "hermes-jobs mcp resources docs --json"))
@click.argument("name", metavar="[NAME]", type=NonEmpty(), required=False, shell_complete=complete_mcp_server)
@limit_option("resources", default=None)
def list_resources(context: CliContext, name: str | None, limit: int | None, as_json: Json) -> None:
    """List the resources of servers.

    Each server is started or contacted. In chat, @NAME:URI adds a resource to your message; replace the
    braces of a template.
    """
    reader = context.application.mcp_reader
    names = (known_row(context, name).name,) if name else reader.names
    folder = os.getcwd()  # noqa: PTH109

    def found_at(server: str) -> Sequence[McpResource] | Rejected:
        try:
            return reader.resources(server, folder)
        except Rejected as rejection:
            return rejection

    with ThreadPoolExecutor(max_workers=MAX_CONCURRENT) as pool:
        listings = list(pool.map(found_at, names))
    rejections = [listing for listing in listings if isinstance(listing, Rejected)]
    if name and rejections:
        raise rejections[0]
    found_resources = [
        resource for resources in listings if not isinstance(resources, Rejected) for resource in resources
    ]
    RESOURCES.print_list(found_resources[:limit], as_json=as_json)
    for rejected in rejections:
        note(f"Away: {rejected.message}")
    if rejections:
        raise SystemExit(FAILED)


@command(
    "read",
    epilog=example("hermes-jobs mcp read docs docs://install", "hermes-jobs mcp read docs logo > a.png"),
)
@click.argument("name", metavar="NAME", type=NonEmpty(), shell_complete=complete_mcp_server)
@click.argument("uri", metavar="URI", type=NonEmpty(), shell_complete=complete_resource)
def read_resource(context: CliContext, name: str, uri: str, as_json: Json) -> None:
    """Print a server's resource unchanged.

    Questions of the server are asked on this terminal; without one, nothing is read.
    """
    known_row(context, name)
    parts = reader_here(context.application).read(name, uri, os.getcwd())  # noqa: PTH109
    if as_json:
        print_json({"server": name, "uri": uri, "contents": [_json(part) for part in parts]})
        return
    data = b"\n".join(part.data for part in parts)
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
        return
    text = _text_of(data)
    if text is None:
        raise Rejected(
            f"{uri} is not text ({parts[0].mime_type or 'of an unknown type'}, {len(data):,} bytes).",
            kind="usage",
            hint=f"Write it to a file: hermes-jobs mcp read {name} {uri} > FILE",
        )
    print_text(text)


def _text_of(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _json(part: McpContent) -> dict[str, str | None]:
    text = _text_of(part.data)
    blob = base64.b64encode(part.data).decode() if text is None else None
    return {"uri": part.uri, "mime_type": part.mime_type, "text": text, "blob": blob}


RESOURCES: Resource[McpResource] = Resource(
    (
        Column("SERVER", lambda item: item.server),
        Column("URI", lambda item: item.uri),
        Column("TYPE", lambda item: item.mime_type, rank=1),
        Column("WHAT IT IS", lambda item: one_line(item.description or item.name), is_main=True),
    ),
    "No resources.",
)
