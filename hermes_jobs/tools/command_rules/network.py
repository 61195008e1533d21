"""Checks for data sent to other machines, and for requests to addresses that only this machine reaches."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Mapping

from hermes_jobs.tools.command_rules.context import CommandContext
from hermes_jobs.tools.command_rules.git import split_verb
from hermes_jobs.tools.command_rules.inline_code import code_connects
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.invocations import Invocation, without_version
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import pattern, words

_HOST = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:[^/@\s]*@)?(?P<host>\[[^\]]+\]|[^/:?#\s]+)", re.IGNORECASE)


def asks_with_substitution(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it sends the output of a command substitution, or of `xargs`' input, to another machine."""
    unseen = [argument for argument in invocation.arguments if UNKNOWN in argument]
    if not context.substitutes:
        is_ours = not invocation.given or is_this_machine(invocation, context)
        unseen = (
            [] if is_ours else [argument for argument in unseen if "://" in argument.replace(UNKNOWN, "")]
        )
    if invocation.name in words("network", "address_askers"):
        return any("://" in argument or argument.startswith("mailto:") for argument in unseen)
    return bool(unseen) and invocation.name in words("network", "askers")


_LONG_LABEL = re.compile(r"(?:^|\.)(?=[^.]*\d)[a-z0-9_-]{30,}\.", re.IGNORECASE)


def asks_by_name(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a name that is looked up carries data: a part of it known only at run time, a long one, or all
    that a file has."""
    if invocation.name in words("network", "askers_of_lists") and (
        invocation.has("-f") or any(one.operator == "<" for one in invocation.redirects)
    ):
        return True
    return any(
        (UNKNOWN in word and re.fullmatch(r"\W*", word.replace(UNKNOWN, "")) is None)
        or _LONG_LABEL.search(word)
        or (word.startswith("@") and not re.fullmatch(r"@[\d.:a-f]+", word) and not word.endswith(_RESOLVERS))
        for word in invocation.arguments
    ) or (
        invocation.name == "nslookup"
        and any(
            re.fullmatch(r"[\d.:a-f]+", word) is None and not word.endswith(_RESOLVERS)
            for word in invocation.operands[1:]
        )
    )


_RESOLVERS = ("dns.google", "one.one.one.one", "localhost", "resolver1.opendns.com", "dns.quad9.net")


def names_metadata_service(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether it uses the metadata service of a cloud."""
    if invocation.name in ("echo", "grep", "rg", "printf"):
        return False
    services = pattern("network", "metadata_services")
    return any(map(services.search, (*invocation.arguments, invocation.input)))


def sends_data(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether a web client sends files or data."""
    return _SENDS[without_version(invocation.name)](invocation)


def _curl_sends(curl: Invocation) -> bool:
    if curl.has("-G", "--get") and not any("@" in argument for argument in curl.arguments):
        return False
    if any(_CURL_SENDS.match(argument) for argument in curl.arguments):
        return True
    if any("@" in value for value in values(curl, "", "--url-query", "--url")):
        return True
    if any(
        re.match(r"-[a-zA-Z]*d", argument) for argument in curl.arguments if not argument.startswith("--")
    ):
        return True
    methods = values(curl, "X", "--request")
    if any(method.upper() not in ("GET", "HEAD", "OPTIONS") for method in methods):
        return True
    return any(re.search(r"^(?:-H|--header)?=?@", argument) for argument in curl.arguments)


_CURL_SENDS = re.compile("--(?:data|json|variable|expand-)")


def _openssl_sends(openssl: Invocation) -> bool:
    reads_input = (
        openssl.piped
        or openssl.input
        or any("<" in redirect.operator and redirect.target != "/dev/null" for redirect in openssl.redirects)
    )
    return openssl.operands[:1] == ("s_server",) or (
        openssl.operands[:1] == ("s_client",) and bool(reads_input)
    )


def _httpie_sends(http: Invocation) -> bool:
    verbs = {operand.upper() for operand in http.operands[:1] if operand.isalpha() and operand != "localhost"}
    reads_input = http.piped or bool(http.input) or any(one.operator == "<" for one in http.redirects)
    if reads_input and "--ignore-stdin" not in http.arguments:
        return True
    return bool(verbs - {"GET", "HEAD", "OPTIONS"}) or any(
        re.match(r"@|[\w-]+(?:(?!==)(?::?=@?|@)|==@)", operand) for operand in http.operands[1:]
    )


def reads_from_others(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it shows or stores what others wrote on another machine."""
    only_knocks = invocation.name in ("nc", "ncat", "netcat") and invocation.has("-z")
    if invocation.arguments in _ABOUT_ITSELF or only_knocks:
        return False
    if invocation.name in words("network", "readers") or code_connects(invocation):
        return True
    if any(redirect.target.startswith(("/dev/tcp/", "/dev/udp/")) for redirect in invocation.redirects):
        return True
    verbs = _verbs(invocation)
    if verbs & words("network", "reading_verbs") or any(
        verb in verbs and invocation.has(option) for verb, option in _READING_WITH
    ):
        return True
    if invocation.name not in ("echo", "printf", "export") and any(
        map(pattern("network", "of_others").search, context.path_words(invocation))
    ):
        return True
    if invocation.name in ("rsync", "rclone", "scp"):
        return any(_REMOTE.fullmatch(operand) for operand in invocation.operands)
    if invocation.name not in words("network", "web"):
        return invocation.name not in _MENTIONERS and any(map(_is_elsewhere, invocation.arguments))
    reads_file = bool(invocation.operands) and all(
        operand.lower().startswith("file:///") for operand in invocation.operands
    )
    return not reads_file and not is_this_machine(invocation, context)


def _is_elsewhere(word: str) -> bool:
    """Whether a word is the address of a page or a repository on another machine, also behind an option."""
    address = _ADDRESS.match(word)
    return address is not None and not is_loopback(address["host"].strip("[]").lower())


_ADDRESS = re.compile(
    r"(?:-[\w-]*=?)?(?:https?|ftps?|git|ssh|svn)://(?:[^/@\s]*@)?(?P<host>\[[^\]]+\]|[^/:?#\s]+)"
)
_READING_WITH = (("git-archive", "--remote"), ("go-list", "-m"))
_MENTIONERS = ("echo", "printf", "grep", "rg", "sed", "awk", "export", "git")
_ABOUT_ITSELF = (("--version",), ("-V",), ("--help",), ("-h",))
_REMOTE = re.compile(r"[\w.@-]+:.*|rsync://.*")


def _verbs(invocation: Invocation) -> frozenset[str]:
    """Its verb, behind the program's name, and the same with the next word, joined by hyphens."""
    verb = split_verb(invocation)[0] if invocation.name == "git" else invocation
    first = [verb.name] if invocation.name == "git" else []
    said = (invocation.name, *first, *verb.operands[: 2 - len(first)])
    return frozenset(("-".join(said[:2]), "-".join(said)))


def is_this_machine(invocation: Invocation, _context: CommandContext) -> bool:
    """Whether each named host is this machine, and no file is sent."""
    if not all(map(is_loopback, _connected_to(invocation))):
        return False
    skipped = set(
        values(
            invocation, "dFHXoAbcDeuTm", "--data", "--json", "--header", "--request", "--output", "--form",
            "--data-raw", "--data-binary", "--data-urlencode", "--max-time", "--user", "--cookie",
        )
    )  # fmt: skip
    hosts = [
        match["host"].strip("[]").lower()
        for operand in (re.sub(r"^:(?=\d|/|$)", "localhost:", operand) for operand in invocation.operands)
        if operand not in skipped
        and (match := _HOST.match(operand))
        and re.search(r"[.:/]|localhost", operand)
    ]
    return bool(hosts) and all(map(is_loopback, hosts))


def asks_service_beside(invocation: Invocation, context: CommandContext) -> bool:
    """Whether it asks a service of this machine how it is: `echo stats | nc localhost 11211`."""
    return _ASKS_HOW.match(invocation.echoed) is not None and is_this_machine(invocation, context)


_ASKS_HOW = re.compile(
    r"(?:stats|version|ruok|stat|mntr|srvr|envi|conf|cons|ping|info|get|head)\b", re.IGNORECASE
)


def _connected_to(curl: Invocation) -> list[str]:
    """The hosts that curl asks in the place of the named ones."""
    if curl.name != "curl":
        return []
    found = []
    for value in values(curl, "", "--resolve"):
        found += _RESOLVED.sub("", value).split(",")
    for value in values(curl, "", "--connect-to"):
        place = _RESOLVED.sub("", value)
        found.append(place[: place.rfind(":")] if ":" in place else place)
    found += [
        match["host"] for value in values(curl, "x", *_PROXIES) if (match := _HOST.match(value)) is not None
    ]
    return [host.strip("[]").lower() for host in found if host]


_RESOLVED = re.compile(r"[+-]?(?:\[[^\]]*\]|[^:]*):\d*:")
_PROXIES = (
    "--proxy", "--preproxy", "--socks5", "--socks4", "--socks5-hostname", "--socks4a", "--doh-url",
)  # fmt: skip


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, in any notation: `127.1`, `0x7f000001`, `::ffff:127.0.0.1`."""
    host = host.removesuffix(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(socket.inet_aton(host) if _NUMBERS.fullmatch(host) else host)
    except (ValueError, OSError):
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


_NUMBERS = re.compile(r"(?:0|0x[0-9a-f]{1,8}|[1-9]\d{0,9})(?:\.(?:0|0x[0-9a-f]{1,8}|[1-9]\d{0,9})){0,3}")
"""As the system's own functions read an address; with octal numbers, others read another one."""


_SENDS: Mapping[str, Callable[[Invocation], bool]] = {
    "curl": _curl_sends,
    "curlie": lambda curlie: _curl_sends(curlie) or _httpie_sends(curlie),
    "http": _httpie_sends,
    "https": _httpie_sends,
    "xh": _httpie_sends,
    "openssl": _openssl_sends,
}

CHECKS = (
    asks_with_substitution,
    asks_by_name,
    names_metadata_service,
    sends_data,
    is_this_machine,
    asks_service_beside,
)
