"""What git would run and read in a folder: its settings, and its hooks.

git itself reads the settings, so what it finds is what counts: `.git` files, bare repositories, worktrees,
included files. Listing settings and asking for paths runs nothing that a repository names.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from hermes_jobs.text.clip import clip
from hermes_jobs.tools.git_places import leads_back
from hermes_jobs.tools.git_program import Git, Unreadable
from hermes_jobs.tools.git_programs import may_be_of_folder
from hermes_jobs.tools.key_environment import Inside
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.tables import pattern

MAX_SUBMODULES = 16
MAX_LEVELS = 4
OWN_SCOPES = frozenset({"system", "global", "command"})

OVERRIDES: Mapping[str, str] = {
    "core.fsmonitor": "false",
    "core.alternateRefsCommand": ":",
    "core.askPass": "",
    "core.sshCommand": "ssh",
    "gpg.program": "gpg",
    "gpg.ssh.program": "ssh-keygen",
    "gpg.x509.program": "gpgsm",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
}
"""Settings with which git runs nothing of a repository; the person's own values go before them."""


_KNOWN_EDITOR = re.compile(
    r"vim?|nvim|nano|micro|hx|emacs(?: -nw)?|emacsclient|(?:code|codium|zed) --wait|subl(?: -n)? -w|true|cat"
)
NO_FORWARDING = " -a -x -o ClearAllForwardings=yes"
"""Options of ssh with which no server uses the person's agent or ports, whatever their settings say."""
_PLAIN_SSH = re.compile(
    r"""(?x) ssh (?: \ -i\ ?[\w~/.@+-]+ | \ -p\ ?\d+ | \ -l\ ?\w+ | \ -[46CTqv]+
    | \ -o\ ?(?:IdentitiesOnly|BatchMode|Port|User|LogLevel|ConnectTimeout|StrictHostKeyChecking
        |ServerAliveInterval|AddKeysToAgent|PreferredAuthentications)[=\ ][\w.-]+ )*"""
)


@dataclass(frozen=True)
class Setting:
    """One setting with its value and its file; `own`: the person's, and it runs nothing of the folder."""

    key: str
    value: str
    own: bool
    file: str = ""

    @property
    def is_harmless(self) -> bool:
        """Whether it names no program, settings or file elsewhere, and no other server for a key."""
        if re.fullmatch(r"remote\..*\.(?:url|pushurl)", self.key):
            return "::" not in self.value
        if self.key == "core.fsmonitor":
            return self.value in ("true", "false", "")
        if self.key == "core.sshcommand":
            return _PLAIN_SSH.fullmatch(self.value) is not None
        if pattern("credentials", "file_settings").fullmatch(self.key):
            return pattern("credentials", "harmless_files").fullmatch(self.value) is not None
        if self.key in ("core.editor", "sequence.editor"):
            return _KNOWN_EDITOR.fullmatch(self.value) is not None
        if self.key.endswith("pager") and self.value in ("cat", "less", "true", "false", ""):
            return True
        return pattern("credentials", "harmless_settings").fullmatch(self.key) is not None

    def __str__(self) -> str:
        if pattern("credentials", "secret_settings").search(self.key):
            return _plain(self.key)
        return clip(_plain(f"{self.key} = {self.value}"), 200)


@dataclass(frozen=True)
class Repository:
    """The settings in force in a folder, its hooks, and whether it is a bare repository."""

    settings: tuple[Setting, ...] = ()
    hooks: tuple[str, ...] = ()
    bare: bool = False

    def code(self, hooks: str | None) -> tuple[str, ...]:
        """What of the folder git may run, for a person to read; `hooks`: those that it runs, None: all."""
        run = [hook for hook in self.hooks if hooks is None or os.path.basename(hook) in hooks.split()]
        named = [str(setting) for setting in self.settings if not (setting.own or setting.is_harmless)]
        return tuple(dict.fromkeys((*named, *run)))

    def values(self, key: str, *, trusted: bool = False) -> list[str]:
        """The values of a setting, the strongest last; `trusted`: only the person's and harmless ones."""
        found = [one for one in self.settings if _folded(one.key) == _folded(key)]
        return [one.value for one in found if one.own or one.is_harmless or not trusted]

    def guards(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Variables with which git runs no hook, and nothing of the folder."""
        chosen = {key: [value, *self.values(key, trusted=True)][-1] for key, value in OVERRIDES.items()}
        if chosen["core.sshCommand"].split(" ")[0] == "ssh":
            chosen["core.sshCommand"] += NO_FORWARDING
        if self.bare:
            del chosen["safe.bareRepository"]
        settings = [*chosen.items(), ("core.hooksPath", os.devnull)]
        # `cache` has its socket in a folder that commands write: another process may listen there.
        helpers = [each for each in self.values("credential.helper", trusted=True) if each[:5] != "cache"]
        settings += [("credential.helper", helper) for helper in ("", *helpers)]
        taken = environ.get("GIT_CONFIG_COUNT", "0")
        numbers = count(int(taken) if taken.isdigit() else 0)
        guards = {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_PAGER": "cat"}
        for number, (key, value) in zip(numbers, settings, strict=False):
            guards |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
            guards["GIT_CONFIG_COUNT"] = str(number + 1)
        return guards


def _folded(key: str) -> str:
    """The key as git compares it: capitals count in the middle part alone."""
    section, dot, rest = key.partition(".")
    middle, _, name = rest.rpartition(".")
    return f"{section.lower()}{dot}{middle}.{name.lower()}"


def examine(folder: str, git: Git, paths: PathPolicy, workdir: str) -> Repository:
    """What git would find in the folder. Raises `Unreadable`."""
    listed = git.ask(folder, "config", "--list", "-z", "--show-scope", "--show-origin")
    settings = tuple(_settings(listed, folder, paths, workdir))
    try:
        asked = ("rev-parse", "--is-bare-repository", "--git-path", "hooks")
        found = git.ask(folder, *asked, errors=subprocess.STDOUT)
    except Unreadable as error:
        if "not a git repository" in str(error):
            return Repository(settings)
        raise
    bare, _, hooks = found.removesuffix("\n").partition("\n")
    if bare not in ("true", "false"):
        raise Unreadable(found[:200])
    return Repository(settings, tuple(_hooks_in(os.path.join(folder, hooks), folder)), bare == "true")


def current_branch(folder: str, git: Git) -> str:
    """The branch that is checked out; empty if there is none."""
    try:
        return git.ask(folder, "symbolic-ref", "--quiet", "--short", "HEAD").strip()
    except Unreadable:
        return ""


def submodule_folders(folder: str, git: Git, level: int = 0) -> list[str]:
    """The repositories of submodules in a folder that there are, in the order in which git would enter them.

    Raises `Unreadable`.
    """
    if level > MAX_LEVELS:
        raise Unreadable("they are nested too deeply")
    if not os.path.lexists(os.path.join(folder, ".gitmodules")):
        return []
    listing = ("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    entries = git.ask(folder, *listing).split("\0")
    stored = os.path.join(folder, git.ask(folder, "rev-parse", "--git-path", "modules")[:-1])
    found: list[str] = []
    for key, _, path in (entry.partition("\n") for entry in entries if entry):
        name = key.removeprefix("submodule.").removesuffix(".path")
        inner = os.path.normpath(os.path.join(folder, path))
        if os.path.lexists(os.path.join(inner, ".git")):
            found += [inner, *submodule_folders(inner, git, level + 1)]
        elif os.path.lexists(os.path.join(stored, name)):
            found.append(os.path.join(stored, name))
        if len(found) > MAX_SUBMODULES:
            raise Unreadable("there are too many")
    return found


def _plain(text: str) -> str:
    """The text without characters that a terminal would obey."""
    readable = text.encode("utf-8", "replace").decode()
    return "".join(char if char.isprintable() else " " for char in readable)


def _settings(listed: str, folder: str, paths: PathPolicy, workdir: str) -> list[Setting]:
    """The entries of `git config --list -z --show-scope --show-origin`."""
    fields = listed.split("\0")
    settings, inside = [], Inside(paths, workdir)
    for scope, origin, entry in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        key, _, value = entry.partition("\n")
        kind, _, name = origin.partition(":")
        file = os.path.join(folder, name) if kind == "file" else ""
        own = scope in OWN_SCOPES and not (file and inside.holds(file))
        own = own and not may_be_of_folder(key, value, paths, workdir)
        if key == "core.worktree" and scope in ("local", "worktree"):
            own = leads_back(value, os.path.dirname(file))
        settings.append(Setting(key, value, own, file))
    return settings


def _hooks_in(hooks: str, folder: str) -> list[str]:
    """The hooks that git would run, from the folder."""
    try:
        names = sorted(os.listdir(hooks))
    except OSError:
        return []
    return [
        _plain(os.path.relpath(path, folder))
        for name in names
        if not name.endswith(".sample") and os.access(path := os.path.join(hooks, name), os.X_OK)
    ]
