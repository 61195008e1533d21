"""Checks for clients of databases, brokers and directories: whether their server is another machine."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, takewhile

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.network import is_loopback
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words

_ADDRESS = re.compile(
    r"(?:-{0,2}[\w-]{1,40}=)?[a-z][a-z0-9+.-]{1,20}://(?:[^/@\s]{0,200}@)?(?P<hosts>[^/?#\s]{1,300})",
    re.IGNORECASE,
)
_SETTINGS = re.compile(r"\s*\w{1,40}\s{0,5}=")  # as in "host=a dbname=b", which no statement begins with
_SETTING = re.compile(
    r"\b(?:host(?:addr)?|server|data source)\s{0,5}=\s{0,5}['\"]?(?P<hosts>[^\s;'\"]{1,300})", re.IGNORECASE
)
_CONNECT = re.compile(r"(?:\\(?:connect|c|r)|\bconnect)\b(?P<words>[^;\n]{0,400})", re.IGNORECASE)
_PLACE = re.compile(
    r"//[\w.-]{1,200}/[^\s:]{0,300}|(?://)?(?=\S{0,200}[.:])[\w.-]{1,200}(?::\d{1,5})?(?:/[\w-]{0,80})?"
)
_LONGEST_NAME = 120  # of a variable, in characters
_PORT = re.compile(r"(?<![:\]]):\d{1,5}$|(?<=\]):\d{1,5}$")


def names_strange_server(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a client's options, address or variables name a server that is another machine.

    A name without a dot is one of this machine only where it is usual for a service beside a project, or in
    the folder's files for `docker compose`.
    """
    return any(_is_strange(host, context) for host in _hosts(invocation))


def _hosts(client: Invocation) -> Iterator[str]:
    """The words that a client takes for its server."""
    name = without_version(client.name)
    options = _options().get(name, ())
    short = "".join(option[1:] for option in options if not option.startswith("--"))
    long = [option for option in options if option.startswith("--")]
    for value in values(client, short, *long):
        yield from () if "=" in value or "://" in value else value.split(",")
    for text in (*client.arguments, client.input, client.echoed):
        settings = _SETTING.finditer(text) if _SETTINGS.match(text) else ()
        for found in filter(None, (_ADDRESS.match(text), *settings)):
            yield from found["hosts"].split(",")
        for found in _CONNECT.finditer(text):
            named = found["words"].split()
            is_host = 2 if found[0].startswith("\\") else len(named)  # `\connect DATABASE USER HOST`
            yield from (word for i, word in enumerate(named) if i == is_host or "." in word or ":" in word)
    if name in words("network", "clients_by_place"):
        places = (word for word in client.operands if _PLACE.fullmatch(word) and not word.endswith(".js"))
        yield from islice((word.strip("/").partition("/")[0] for word in places), 1)
    if name in words("network", "clients_by_account"):
        yield from (
            word.rpartition("@")[2].lstrip("/").partition("/")[0] for word in client.operands if "@" in word
        )
    for assignment in takewhile(ASSIGNMENT.fullmatch, client.words):
        variable, _, value = assignment.partition("=")
        if pattern("network", "server_variables").fullmatch(variable[:_LONGEST_NAME]) and "://" not in value:
            yield from value.split(",")


@cache
def _options() -> dict[str, tuple[str, ...]]:
    """By client, the options whose value is a server."""
    return {
        client: tuple(options.split())
        for clients, options in load("network")["server_options"].items()
        for client in clients.split()
    }


def _is_strange(word: str, context: CommandContext) -> bool:
    if UNKNOWN in word:
        return context.substitutes
    host = _PORT.sub("", word.strip("'\"")).removeprefix("tcp:").strip("[]").lower()
    if host.startswith(("/", ".", "-")) or host in words("network", "own_names"):
        return False
    if "." in host or ":" in host:
        return not is_loopback(host)
    return _MACHINE.fullmatch(host) is not None and not _is_service(host, context)


_MACHINE = re.compile(r"[a-z][\w-]{0,62}")
_SERVICE = re.compile(
    r"^[ \t]{1,8}(?P<name>[\w.-]{1,63}):[ \t]*(?:#.*)?$|container_name:[ \t]*(?P<other>[\w.-]{1,63})",
    re.MULTILINE,
)


def _is_service(host: str, context: CommandContext) -> bool:
    """Whether a name without a dot is a service beside the project."""
    if pattern("network", "services_beside").fullmatch(host):
        return True
    for name in words("services", "compose_files"):
        context.budget.path()
        try:
            found = _SERVICE.finditer(beginning(os.path.join(context.workdir, name), _MAX_FILE))
        except (OSError, ValueError):
            continue
        if any(host == (match["name"] or match["other"]).lower() for match in found):
            return True
    return False


_MAX_FILE = 100_000


CHECKS = (names_strange_server,)
