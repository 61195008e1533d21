"""Checks for clients of databases, brokers and directories: whether their server is another machine."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import getopt
import ipaddress
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice, takewhile
from urllib.parse import unquote

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.network import is_loopback
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_parser import ASSIGNMENT
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load, pattern, words

_ADDRESS = re.compile(
    r"(?:-{0,2}[\w-]{1,40}=|-[a-z])?[a-z][a-z0-9+.-]{1,20}://(?:[^/@\s]{0,200}@)?(?P<hosts>[^/?#\s]{0,300})",
    re.IGNORECASE,
)
# As in "host=a dbname=b", which no statement begins with.
_SETTINGS = re.compile(r"(?:--[\w-]{1,40}=|-[a-z])?\s*\w{1,40}\s{0,5}=")
_SETTING = re.compile(
    r"(?:\b|^-[a-z])(?:host(?:addr)?|server|data source)\s{0,5}=\s{0,5}['\"]?(?P<hosts>[^\s;&'\"]{1,300})",
    re.IGNORECASE,
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
        address = _ADDRESS.match(text)
        settings = _SETTING.finditer(unquote(text)) if address or _SETTINGS.match(text) else ()
        for found in filter(None, (address, *settings)):
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
    if "." in host or ":" in host or host[:1].isdigit():
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


def may_reach_this_machine(client: Invocation, environ: Mapping[str, str]) -> bool:
    """Whether `psql` or `mysql` may connect to a server of this machine, other than its usual socket.

    Connection strings are read as libpq reads them; what is not plain, or names a service, counts.
    Raises `getopt.GetoptError` where an option is not known.
    """
    is_psql = client.name == "psql"
    options, operands = getopt.gnu_getopt(list(client.arguments), *(_PSQL if is_psql else _MYSQL))
    if not is_psql:
        return _is_here(environ.get("MYSQL_HOST", ""))
    hosts = [value for option, value in options if option in ("-h", "--host")]
    hosts += [environ.get("PGHOST", ""), environ.get("PGHOSTADDR", "")]
    texts = [*operands, *(value for option, value in options if option in ("-d", "--dbname"))]
    for settings in map(_connection, texts):
        if settings is None or not all(_HARMLESS.fullmatch(key) for key, _ in settings):
            return True
        hosts += [value for key, value in settings if key in ("host", "hostaddr")]
    return any(_is_here(host) for value in hosts for host in value.split(","))


_PSQL = (
    "aAbc:d:eEF:h:HlnqsStp:U:VwWxXz01",
    ("host=", "port=", "username=", "dbname=", "no-password", "list", "tuples-only", "no-align", "expanded",
     "no-psqlrc", "quiet", "csv", "command="),
)  # fmt: skip
_MYSQL = (
    "u:D:NBtse:rvEqnHXACb",
    ["user=", "database=", "skip-column-names", "batch", "table", "silent", "execute="],
)
_URI = re.compile(
    r"postgres(?:ql)?://(?:[^@/]*@)?(?P<hosts>[^/?]*)(?:/[^?]*)?(?:\?(?P<query>.*))?", re.DOTALL
)
_PAIR = re.compile(r"\s*(\w+)\s*=\s*([^\s'\\]*)(?=\s|$)")
_HARMLESS = re.compile(
    r"host|hostaddr|port|dbname|user|password|sslmode|connect_timeout|application_name|client_encoding|options"
)
_NAME = re.compile(r"(?:[\w-]{1,63}\.){0,20}[a-z_][\w-]{0,62}\.?")


def _connection(text: str) -> list[tuple[str, str]] | None:
    """The settings of a name of a database, which may be a connection string; None if it cannot be read."""
    if found := _URI.fullmatch(text):
        hosts = ",".join(_PORT.sub("", host) for host in found["hosts"].split(","))
        pairs = [one.partition("=") for one in (found["query"] or "").split("&") if one]
        return [("host", unquote(hosts)), *((unquote(key), unquote(value)) for key, _, value in pairs)]
    if "=" not in text:
        return []
    return None if _PAIR.sub("", text).strip() else _PAIR.findall(text)


def _is_here(host: str) -> bool:
    host = host.strip().lower()
    try:
        is_judged = _NAME.fullmatch(host) is not None or bool(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        is_judged = not host
    is_own = host.rstrip(".") in names_of_this_machine()
    return not is_judged or is_loopback(host) or is_own or "localhost" in host or "loopback" in host


@cache
def names_of_this_machine() -> frozenset[str]:
    """The names that lead to this machine: its own, and those with an address of it in `/etc/hosts`."""
    names = {"localhost", socket.gethostname().lower()}
    with suppress(OSError, ValueError):
        for entry in beginning("/etc/hosts", _MAX_FILE).splitlines():
            address, *given = entry.partition("#")[0].split() or ("",)
            names |= {name.lower() for name in given if is_loopback(address)}
    return frozenset(names - {""})
