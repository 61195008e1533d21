"""Commands that a person is asked about first. Like all rules they read text: see `denied`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence

from hermes_jobs.tools.invocations import SHELLS, Invocation
from hermes_jobs.tools.roots import is_inside
from hermes_jobs.tools.rules import DELETERS, LISTERS, Place, Rule, path_words, written_paths
from hermes_jobs.tools.words import UNKNOWN

INTERPRETERS = SHELLS | {"python", "perl", "ruby", "node", "php", "lua"}
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
SCRATCH = ("/tmp", "/var/tmp", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/dev/shm")
_CREDENTIALS = re.compile(
    r"^/etc/g?shadow|/\.ssh/(?!known_hosts|config$)|/\.aws/credentials|/\.(?:netrc|pgpass|git-credentials)$|/\.gnupg/"
)
_STARTUP = re.compile(
    r"/\.(?:(?:bash|zsh)(?:rc|_profile|_login|env)|profile|zprofile|login)$|/\.ssh/authorized_keys$|/\.git/hooks/"
)
INSTALLERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            "apt",
            "apt-get",
            "aptitude",
            "dnf",
            "yum",
            "zypper",
            "brew",
            "snap",
            "flatpak",
            "port",
            "apk",
            "pkg",
        ),
        frozenset(
            [
                "install",
                "remove",
                "purge",
                "upgrade",
                "dist-upgrade",
                "full-upgrade",
                "autoremove",
                "uninstall",
                "reinstall",
                "add",
                "del",
            ]
        ),
    ),
    **dict.fromkeys(
        ("pip", "pip3", "pipx", "gem", "conda", "mamba", "cargo", "go"), frozenset({"install", "uninstall"})
    ),
    **dict.fromkeys(
        ("npm", "yarn", "pnpm", "bun", "poetry", "uv"),
        frozenset({"install", "i", "ci", "add", "update", "uninstall", "remove", "sync"}),
    ),
}


def _named(*names: str, harmless: str = "") -> Callable[[Invocation, Place], bool]:
    """A rule for programs by name, except with one of the harmless words."""
    spared = frozenset(harmless.split())
    return lambda invocation, _place: invocation.name in names and spared.isdisjoint(invocation.arguments)


def _deletes_folders(invocation: Invocation, _place: Place) -> bool:
    if invocation.name == "find":
        return "-delete" in invocation.arguments
    if invocation.name == "rsync":
        return any(each.startswith("--del") for each in invocation.arguments)
    return invocation.name in DELETERS - {"rm", "unlink"} or (
        invocation.name == "rm" and invocation.has("-r", "-R", "--recursive")
    )


def _changes_rights(invocation: Invocation, _place: Place) -> bool:
    if invocation.name not in ("chmod", "chown", "chgrp"):
        return False
    mode = next(iter(invocation.operands), "")
    setuid = invocation.name == "chmod" and re.fullmatch(r"[ugo]*\+[rwx]*s[rwx]*|[2467]\d{3}", mode)
    return bool(setuid) or invocation.has("-R", "--recursive")


def _runs_unseen(invocation: Invocation, _place: Place) -> bool:
    """An interpreter that runs what another program prints, or text that is known only when it runs."""
    if UNKNOWN in invocation.name:
        return True
    if invocation.name in ("eval", "source", "."):
        return any(each.startswith(UNKNOWN) for each in invocation.arguments[:1])
    name = re.sub(r"[\d.]+$", "", invocation.name)
    if name not in INTERPRETERS:
        return False
    if name in SHELLS and any(each.startswith(UNKNOWN) for each in invocation.operands[:1]):
        return True
    return invocation.piped and _reads_program(name, invocation.arguments)


def _reads_program(name: str, arguments: Sequence[str]) -> bool:
    """Whether an interpreter that is called so runs its input, not a file or one of its arguments."""
    rest = list(arguments)
    options: list[str] = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        options.append(rest.pop(0))
        if name in SHELLS and re.fullmatch(r"-\w*[oO]", options[-1]):  # as in `-euo pipefail`
            del rest[:1]
    letters = {letter for each in options if not each.startswith("--") for letter in each[1:]}
    if name in SHELLS and "s" in letters and "c" not in letters:
        return True  # what follows are its arguments
    if rest[:1] == ["--"]:
        del rest[0]
    if rest and rest[0] not in STANDARD_INPUT:
        return False
    if name in SHELLS:
        return letters.isdisjoint("cn") and not {"--version", "--help"}.intersection(options)
    return all(each in ("-s", "-x", "-e", "-u", "-l", "-i") for each in options)


GIT: Mapping[str, Callable[[Invocation], bool]] = {
    "push": lambda git: (
        git.has("-f", "-d", "--force", "--force-with-lease", "--mirror", "--delete", "--prune")
        or any(each.startswith("+") for each in git.operands)
    ),
    "reset": lambda git: git.has("--hard", "--merge"),
    "clean": lambda git: not git.has("-n", "--dry-run"),
    "checkout": lambda git: git.has("-f", "--force") or "--" in git.arguments or "." in git.operands,
    "restore": lambda git: not git.has("-S", "--staged"),
    "branch": lambda git: git.has("-D") or (git.has("-d", "--delete") and git.has("-f", "--force")),
    "stash": lambda git: git.operands[:1] in (("drop",), ("clear",)),
    "reflog": lambda git: git.operands[:1] in (("expire",), ("delete",)),
    "filter-branch": lambda _git: True,
    "filter-repo": lambda _git: True,
    "update-ref": lambda _git: True,
}
"""By git's verb, whether it discards what cannot be had back."""


def _git(invocation: Invocation, _place: Place) -> bool:
    if invocation.name != "git":
        return False
    words = list(invocation.arguments)
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-C", "-c", "--git-dir", "--work-tree") else words[1:]
    if not words or words[0] not in GIT:
        return False
    return GIT[words[0]](Invocation("git", tuple(words[1:]), (), invocation.folder))


def _kills_others(invocation: Invocation, _place: Place) -> bool:
    if invocation.name in ("pkill", "killall", "fuser", "xkill"):
        return invocation.name != "fuser" or invocation.has("-k", "--kill")
    if invocation.name != "kill" or invocation.has("-l", "-L") or "-0" in invocation.arguments:
        return False
    arguments = invocation.arguments
    targets = arguments[1:] if arguments[:1] and arguments[0].startswith("-") else arguments
    # Without a target it is `xargs` that gives it some.
    return not targets or any(UNKNOWN in each or re.fullmatch(r"-?\d+", each) for each in targets)


def _installs(invocation: Invocation, _place: Place) -> bool:
    name, words = invocation.name, invocation.operands[:3]
    if re.fullmatch(r"python[\d.]*", name) and "-m" in invocation.arguments and words:
        name, words = words[0], words[1:]
    if name == "pacman":
        return invocation.has("-S", "-R", "-U")
    if name in ("dpkg", "rpm"):
        return invocation.has("-i", "-e", "-U", "-r", "-P", "--install")
    return name in ("npx", "bunx", "uvx") or not INSTALLERS.get(name, frozenset()).isdisjoint(words)


def _writes_outside(invocation: Invocation, place: Place) -> bool:
    allowed = (
        *place.roots.real_roots(place.workdir),
        *(os.path.realpath(each) for each in SCRATCH),
        *SCRATCH,
    )
    paths = [path for word in written_paths(invocation) if (path := invocation.path(word)) is not None]
    # The devices among them lead to wherever this process writes: their own name counts.
    real = [path if path.startswith("/dev/") else os.path.realpath(path) for path in paths]
    return any(not any(is_inside(path, root) for root in allowed) for path in real)


def _starts_by_itself(invocation: Invocation, _place: Place) -> bool:
    return any(_STARTUP.search(invocation.path(word) or "") for word in written_paths(invocation))


def _reads_credentials(invocation: Invocation, _place: Place) -> bool:
    if invocation.name in LISTERS:
        return False
    return any(_CREDENTIALS.search(invocation.path(word) or "") for word in path_words(invocation))


def _other_host(invocation: Invocation, _place: Place) -> bool:
    if invocation.name == "rsync":
        return any(re.match(r"[\w.@-]+:|rsync://", each) for each in invocation.operands)
    if invocation.name == "curl":
        return invocation.has("-T", "--upload-file") or any(
            each.startswith("@") for each in invocation.operands
        )
    return invocation.name in ("ssh", "scp", "sftp", "telnet", "nc", "ncat", "netcat", "socat", "ftp", "mosh")


DANGEROUS: tuple[Rule, ...] = (
    Rule("acting as another user", _named("sudo", "doas", "su", "pkexec", "runuser")),
    Rule("deleting folders or many files", _deletes_folders),
    Rule("changing the rights of many files", _changes_rights),
    Rule("running downloaded or unseen text", _runs_unseen),
    Rule("rewriting git history or discarding changes", _git),
    Rule("killing other processes", _kills_others),
    Rule("installing or removing software", _installs),
    Rule("writing files that run by themselves", _starts_by_itself),
    Rule("writing outside the working folder", _writes_outside),
    Rule("reading keys or passwords", _reads_credentials),
    Rule("another host", _other_host),
    Rule(
        "containers and clusters",
        _named(
            "docker", "podman", "nerdctl", "kubectl", "helm",
            harmless="ps images logs inspect version info get describe --version --help",
        ),
    ),
    Rule(
        "services and timers",
        _named(
            "systemctl", "service", "launchctl", "loginctl", "crontab", "at", "batch",
            harmless="status show cat list list-units list-unit-files list-timers is-active is-enabled -l",
        ),
    ),
    Rule(
        "devices, network and accounts of the system",
        _named(
            "mount", "umount", "iptables", "ip6tables", "nft", "ufw", "modprobe", "insmod", "rmmod",
            "useradd", "userdel", "usermod", "groupadd", "passwd", "chpasswd", "visudo", "swapoff",
            "fdisk", "parted", "sfdisk", harmless="-l --list --version --help",
        ),
    ),
)  # fmt: skip
