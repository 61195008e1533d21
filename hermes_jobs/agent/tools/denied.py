"""Commands that are never run, whatever the policy.

A rule looks at one program that a command line would run. It reads text and cannot know what a program does
inside: the rules stop accidents, not an adversary.
"""

# Paths are compared as text and opened by descriptor here, which pathlib hides.
# ruff: noqa: PTH118, PTH119, PTH120

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence

from hermes_jobs.agent.tools.arguments import written_paths
from hermes_jobs.agent.tools.invocations import Invocation, find_starts, is_narrowed
from hermes_jobs.agent.tools.rules import DELETERS, LISTERS, Place, Rule, path_words

SYSTEM_FOLDERS = frozenset(
    f"/{name}"
    for name in (
        "", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root", "run", "sbin", "srv",
        "sys", "usr", "var", "Applications", "Library", "System", "Users", "private",
    )
)  # fmt: skip
_GLOB = re.compile(r"[*?\[{]")
_BLOCK_DEVICE = re.compile(
    r"/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|loop\d|md\d|dm-|mapper/|ram\d|k?mem$|disk/)"
)
_PROCESS_SECRETS = re.compile(r"^//?proc/(?!(?:thread-)?self/)[^/]+/(?:task/[^/]+/)?(?:environ|mem)$")
WHOLE_FOLDER_READERS = frozenset(
    {"cp", "grep", "mv", "rg", "rm", "rsync", "scp", "tar", "zip", "ag", "ack", "git"}
)


def _everything(invocation: Invocation, place: Place, words: Sequence[str]) -> bool:
    """Whether one of the words means a whole system folder or the whole home."""
    precious = SYSTEM_FOLDERS | {os.path.normpath(place.roots.user_home)}
    for word in words:
        path = invocation.path(word)
        if path is None:
            continue
        folder, last = os.path.split(path)
        if path in precious or (
            _GLOB.search(last) and (folder == "/" or (folder in precious and _takes_all(last)))
        ):
            return True
    return False


def _takes_all(pattern: str) -> bool:
    return pattern.strip(".?[]!^{},*") == ""


def _deletes_everything(invocation: Invocation, place: Place) -> bool:
    if invocation.name in DELETERS:
        if invocation.has("--no-preserve-root"):
            return True
        return invocation.has("-r", "-R", "--recursive") and _everything(
            invocation, place, invocation.operands
        )
    if invocation.name == "find" and "-delete" in invocation.arguments:
        starts = find_starts(invocation.arguments)
        return not is_narrowed(invocation.arguments) and _everything(invocation, place, starts)
    return False


def _changes_everything(invocation: Invocation, place: Place) -> bool:
    changers = ("chmod", "chown", "chgrp")
    recursive = invocation.name in changers and invocation.has("-R", "--recursive")
    return recursive and _everything(invocation, place, invocation.operands[1:])


def _writes_device(invocation: Invocation, _place: Place) -> bool:
    if any(_BLOCK_DEVICE.match(invocation.path(each) or "") for each in written_paths(invocation)):
        return True
    makers = ("wipefs", "blkdiscard", "mkswap", "shred", "fdisk", "sfdisk", "parted", "sgdisk", "newfs")
    if invocation.name == "mkfs" or invocation.name.startswith("mkfs."):
        return True
    lists = invocation.has("-l", "--list")
    return (
        invocation.name in makers
        and not lists
        and any(_BLOCK_DEVICE.match(each) for each in invocation.arguments)
    )


def _stops_machine(invocation: Invocation, _place: Place) -> bool:
    verbs = {"poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency"}
    if invocation.name in ("shutdown", "reboot", "halt", "poweroff"):
        return not invocation.has("--help", "--version")
    if invocation.name in ("init", "telinit"):
        return invocation.operands[:1] in (("0",), ("6",), ("1",), ("s",))
    if invocation.name in ("systemctl", "loginctl"):
        return bool(verbs & set(invocation.operands[:1]))
    return "/proc/sysrq-trigger" in written_paths(invocation)


def _kills_everything(invocation: Invocation, _place: Place) -> bool:
    return invocation.name == "kill" and "-1" in invocation.arguments[1:]


def _touches_private(invocation: Invocation, place: Place) -> bool:
    """Whether it names our own settings, secrets or databases: as a path, by a pattern, or within code."""
    words = path_words(invocation)
    if any(_is_private(invocation, place, word) for word in words):
        return True
    if invocation.name in LISTERS or not invocation.arguments:
        return False
    home = os.path.normpath(place.roots.home)
    pattern = re.escape(home) + r"/(?:\.env|config\.yaml|views|events\.db)"
    return any(re.search(pattern, word) for word in words)


def _acts_as_the_user(invocation: Invocation, _place: Place) -> bool:
    """Whether it runs hermes-jobs, which is the user's to run."""
    harmless = {"--help", "-h", "--version"}.intersection(invocation.arguments)
    if invocation.name == "hermes-jobs":
        return bool(invocation.arguments) and not harmless
    if not re.fullmatch(r"python[\d.]*", invocation.name):
        return False
    module = re.compile(r"-\w*m(?P<name>.*)", re.DOTALL)
    for index, each in enumerate(invocation.arguments):
        match = module.fullmatch(each)
        if match is not None:
            name = match["name"] or next(iter(invocation.arguments[index + 1 :]), "")
            return name.partition(".")[0] == "hermes_jobs" and not harmless
    return any(each.endswith("/hermes-jobs") for each in invocation.arguments[:1])


def _is_private(invocation: Invocation, place: Place, word: str) -> bool:
    if _PROCESS_SECRETS.match(os.path.normpath(os.path.join(invocation.folder, word))):
        return True
    path = invocation.path(word)
    if path is None or len(path) > 4096:
        return False
    real, home = place.real(path), place.home
    names = invocation.name in LISTERS
    if real == home:
        runs = invocation.name == "find" and any(
            each.startswith(("-exec", "-ok")) for each in invocation.arguments
        )
        return runs or (invocation.name in WHOLE_FOLDER_READERS and not names)
    if place.roots.is_private(real):
        return not names or bool(invocation.redirects)
    if _GLOB.search(word) and not names and fnmatch.fnmatch(home, os.path.dirname(real)):
        private = (".env", "config.yaml", "events.db", "events.db-wal", "views")
        return any(fnmatch.fnmatch(each, os.path.basename(real)) for each in private)
    return False


DENIED: tuple[Rule, ...] = (
    Rule("deleting a whole system or home folder", _deletes_everything),
    Rule("changing the rights of a whole system or home folder", _changes_everything),
    Rule("writing to a disk or memory device", _writes_device),
    Rule("stopping the machine", _stops_machine),
    Rule("killing every process", _kills_everything),
    Rule("the settings, secrets and databases of hermes-jobs", _touches_private),
    Rule("acting as the user: hermes-jobs itself", _acts_as_the_user),
)

_FORK_BOMB = re.compile(r"(?P<name>[\w:.]{1,40})\(\)\{[^}]{0,200}(?P=name)\|(?P=name)&[^}]{0,200}\}")
_RAW_DENIED = (
    ("fork bomb", _FORK_BOMB),
    ("deleting a whole system or home folder", re.compile(r"\brm(?:-[rRf-][\w-]*)+/(?:\*|[;&|]|$)")),
)


def raw_denial(text: str, *, parsed: bool) -> str | None:
    """The rule that the text meets as it stands, spaces aside; where it cannot be parsed, of more rules."""
    squeezed = re.sub(r"\s+", "", text)
    rules = _RAW_DENIED[:1] if parsed else _RAW_DENIED
    return next((name for name, pattern in rules if pattern.search(squeezed)), None)
