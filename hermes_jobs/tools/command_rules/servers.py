"""Checks for clients of databases, brokers and directories: whether their server is another machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, takewhile

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
_PLACE = re.compile(r"(?://)?(?=\S{0,200}[.:])[\w.-]{1,200}(?::\d{1,5})?(?:/[\w-]{0,80})?")
_LONGEST_NAME = 120  # of a variable, in characters
_PORT = re.compile(r"(?<![:\]]):\d{1,5}$|(?<=\]):\d{1,5}$")


def names_strange_server(invocation: Invocation, context: CommandContext) -> bool:
    """Whether a client's options, address or variables name a server that is another machine.

    A name without a dot is one of this machine's network, such as a service of `docker compose`.
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
            yield from found["words"].split()
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
    return ("." in host or ":" in host) and not is_loopback(host)


CHECKS = (names_strange_server,)
