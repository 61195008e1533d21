"""What programs with keys would run, or obey, of the working folder: the checks of `credentials.toml`."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from getopt import GetoptError
from pathlib import Path

from hermes_jobs.system.regular_file import beginning
from hermes_jobs.text.clip import clip
from hermes_jobs.tools import git_changes, npm_packages
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.command_rules.servers import may_reach_this_machine
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.git_places import git_folder, repository_above
from hermes_jobs.tools.git_places import submodules as indexed
from hermes_jobs.tools.git_program import Git, Unreadable
from hermes_jobs.tools.glob_matches import Folders, link_to_keys
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.judging_budget import Budget
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.repositories import (
    Repository,
    Setting,
    current_branch,
    examine,
    submodule_folders,
)
from hermes_jobs.tools.tables import load, pattern

MAX_SETTINGS_BYTES = 64_000
MAX_EMBEDDED = 64  # repositories in the index of another one
MAX_FOLDERS = 8  # of a line, whose repositories are looked at
SSH_PLACES = frozenset({".ssh"})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The places that a program needs, what of the folder would see them, and why it must not see them."""

    places: Sequence[str]
    code: tuple[str, ...] = ()
    withheld: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)


def ways(path: str) -> list[str]:
    """Where a path leads: `..` behind a link leads elsewhere for programs, and for a shell with `set -P`."""
    plain, real = os.path.normpath(path), os.path.realpath(path)
    return [plain] if real == os.path.realpath(plain) else [plain, real]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command line: its programs, the folders in which they may run, and their variables."""

    invocations: Sequence[Invocation]
    folders: Sequence[str]
    environ: Mapping[str, str]
    paths: PathPolicy
    workdir: str
    git: Git
    budget: Budget = field(default_factory=Budget, compare=False)

    @cached_property
    def files(self) -> Folders:
        """The folders in which its patterns are looked up."""
        return Folders(self.budget)

    @cached_property
    def linked(self) -> tuple[str, ...]:
        """Links to keys that programs with keys may read through: of a repository within it, where git prints
        what it cannot read; of others in its folders."""
        places = self.folders
        if self.verbs:
            above = (
                each for folder in self.git_runs_in for each in (folder, *map(str, Path(folder).parents))
            )
            places = [*{git: None for folder in above if (git := git_folder(folder))}]
        return tuple(filter(None, (link_to_keys(place, self.paths) for place in places)))

    @cached_property
    def verbs(self) -> tuple[str, ...]:
        """The verbs of git in it."""
        return tuple(
            git.split_verb(invocation)[0].name for invocation in self.invocations if invocation.name == "git"
        )

    @cached_property
    def hooks(self) -> str | None:
        """The names of hooks that its verbs of git run; None for all."""
        table: Mapping[str, str] = load("credentials")["git"]["hooks"]
        return (
            " ".join(table[verb] for verb in self.verbs)
            if all(verb in table for verb in self.verbs)
            else None
        )

    @cached_property
    def added_remotes(self) -> Mapping[str, str]:
        """The addresses that the line itself adds, by the names of their remotes."""
        verbs = (git.split_verb(one)[0] for one in self.invocations if one.name == "git")
        return {verb.arguments[1]: verb.arguments[2] for verb in verbs if git_changes.adds_plain_remote(verb)}

    @cached_property
    def repositories(self) -> Sequence[Repository]:
        """What git would find, in each folder in which it may run. Raises `Unreadable`."""
        return [examine(folder, self.git, self.paths, self.workdir) for folder in self.git_runs_in]

    @cached_property
    def git_runs_in(self) -> Sequence[str]:
        """The folders in which git may run, with those of `-C`."""
        chains = [git.split_verb(one)[2] for one in self.invocations if one.name == "git"] or [[]]
        joined = (os.path.join(folder, *chain) for folder in self.folders for chain in chains)
        return tuple(dict.fromkeys(way for path in joined for way in ways(path)))

    def finding(self, places: Sequence[str], hooks: str | None, code: Sequence[str] = ()) -> Finding:
        """A finding on git's settings and hooks in its folders."""
        try:
            found = [one for repository in self.repositories for one in repository.code(hooks)]
            guards = self.repositories[0].guards(self.environ)
        except Unreadable as error:
            return Finding(
                places=places, code=(f"a repository that cannot be checked ({clip(str(error), 80)})",)
            )
        code = tuple(dict.fromkeys((*code, *found, *self.linked)))
        return Finding(places=places, code=code, guards=guards)


def transfers(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What a transfer of git needs: keys of ssh or of https, by the address of the remote repository."""
    verb, settings, _folders = git.split_verb(invocation)
    if reason := _names_other(invocation, verb, settings):
        return Finding(places=places, withheld=reason)
    try:
        addresses = _addresses(verb, line)
    except Unreadable:
        return line.finding(places, line.hooks)
    kinds = {_transport(address) for address in addresses}
    needed = [place for place in places if ("ssh" if place in SSH_PLACES else "https") in kinds]
    if not needed:
        return Finding(places=())
    others = [address for address in addresses if "::" in address]
    others += [f"the server at {address}" for address in addresses if _THIS_MACHINE.match(address)]
    finding = line.finding(needed, line.hooks, others)
    allowed = {"GIT_ALLOW_PROTOCOL": ":".join(sorted({"ssh", "https", "http"} & kinds))}
    return Finding(places=needed, code=finding.code, guards={**finding.guards, **allowed})


def reaches_folder(invocation: Invocation, line: Line) -> tuple[str, ...]:
    """The repositories that a transfer reaches without a server: git runs their hooks here."""
    try:
        addresses = _addresses(git.split_verb(invocation)[0], line)
    except Unreadable:
        return ("a repository that cannot be checked",)
    return tuple(f"the repository {clip(one, 80)}" for one in addresses if "::" in one or not _transport(one))


_THIS_MACHINE = re.compile(r"https?://(?:[^@/]*@)?(?:localhost|127\.|0\.|\[)", re.IGNORECASE)
"""A server that code of the folder may have started."""


def _names_other(invocation: Invocation, verb: Invocation, settings: Sequence[str]) -> str:
    """Which option names a program, settings or a repository."""
    before = invocation.arguments[: len(invocation.arguments) - len(verb.arguments) - 1]
    plain = ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "-C", "-c")
    other = [word for word in before if word.startswith("-") and word not in plain]
    allowed = re.compile(load("credentials")["git"]["transfer_options"])
    other += [word for word in verb.arguments if word.startswith("-") and not allowed.fullmatch(word)]
    settings = [*settings, *(values(verb, "c", "--config") if verb.name == "clone" else ())]
    for setting in settings:
        key, _, value = setting.partition("=")
        if not Setting(key.lower(), value, own=False).is_harmless:
            other.append(f"-c {key}")
    return f"`{clip(other[0], 40)}` may name a program, settings or another repository" if other else ""


def _addresses(verb: Invocation, line: Line) -> list[str]:
    """The addresses that a transfer may use. Raises `Unreadable`."""
    valued = load("credentials")["git"]["valued"].split()
    words = list(verb.arguments)
    named = ""
    while words and not named:
        word = words.pop(0)
        if word in valued:
            words[:1] = []
        elif not word.startswith("-"):
            named = word
    every = verb.has("--all", "--multiple")
    found = [address for name, address in line.added_remotes.items() if every or name == named]
    for repository in line.repositories:
        remotes = {
            setting.key.split(".", 1)[1].rpartition(".")[0]
            for setting in repository.settings
            if re.fullmatch(r"remote\..*\.(?:url|pushurl)", setting.key)
        }
        if named and named not in remotes:
            found += [] if named in line.added_remotes else [named]
            continue
        wanted = remotes if every else {named or _default(repository, verb.name, line)}
        for remote in wanted:
            pushed = repository.values(f"remote.{remote}.pushurl") if verb.name == "push" else []
            found += pushed or repository.values(f"remote.{remote}.url")
        if any(setting.key.startswith("url.") for setting in repository.settings):
            found += ["ssh://rewritten", "https://rewritten"]
    return found


def _default(repository: Repository, verb: str, line: Line) -> str:
    """The remote that git uses where none is named."""
    branch = current_branch(line.folders[-1], line.git)
    keys = [f"branch.{branch}.pushremote", "remote.pushdefault"] if verb == "push" else []
    for key in (*keys, f"branch.{branch}.remote"):
        if found := repository.values(key):
            return found[-1]
    return "origin"


def _transport(address: str) -> str:
    if "::" in address:
        return "https"
    scheme, separator, _ = address.partition("://")
    if separator:
        return {"https": "https", "http": "https", "ssh": "ssh", "git+ssh": "ssh", "ssh+git": "ssh"}.get(
            scheme, ""
        )
    return "ssh" if re.match(r"[^/:]+:", address) else ""


def submodules(_invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What git runs in submodules, whose own settings and hooks no variable overrides."""
    finding = line.finding(places, None)
    code = list(finding.code)
    try:
        for folder in line.folders:
            for each in submodule_folders(folder, line.git):
                repository = examine(each, line.git, line.paths, line.workdir)
                named = os.path.relpath(each, line.workdir)
                code += [f"{one} ({named})" for one in repository.code(None)]
    except Unreadable as error:
        code.append(f"submodules that cannot be checked ({clip(str(error), 80)})")
    allowed = {"GIT_ALLOW_PROTOCOL": "http:https:ssh"}
    return Finding(places=places, code=tuple(dict.fromkeys(code)), guards={**finding.guards, **allowed})


def embedded(line: Line) -> tuple[str, ...]:
    """What git would run of repositories in the index of another one, also without `.gitmodules`."""
    tops = [(top, git) for folder in line.git_runs_in for top, git in [repository_above(folder)] if git]
    folders = dict.fromkeys(folder for folder, _ in indexed(tops))
    if len(folders) > MAX_EMBEDDED:
        return ("too many submodules",)
    code: list[str] = []
    for folder in folders:
        named = os.path.relpath(folder, line.workdir)
        try:
            found = examine(folder, line.git, line.paths, line.workdir).code(line.hooks)
        except Unreadable:
            found = ("a repository that cannot be checked",)
        code += [f"{one} ({named})" for one in found]
    return tuple(code)


def signs(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What a commit or a tag needs: the key that signs it, if it is signed."""
    verb = git.split_verb(invocation)[0]
    try:
        asked = verb.has("-S", "--gpg-sign") or (verb.name == "tag" and verb.has("-s", "-u"))
        settings = [
            repository.values(f"{name}.gpgsign")
            for repository in line.repositories
            for name in ("commit", "tag")
        ]
        if not (asked or any(value[-1:] in (["true"], [""], ["1"], ["yes"]) for value in settings)):
            return Finding(places=())
        ssh = any(repository.values("gpg.format")[-1:] == ["ssh"] for repository in line.repositories)
    except Unreadable:
        return Finding(places=())
    return line.finding([place for place in places if (place in SSH_PLACES) == ssh], line.hooks)


def asks_git(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What `gh` runs of the folder by git; keys of ssh only for what changes the folder."""
    changes = not set(load("credentials")["tables"]["gh_changes"].split()).isdisjoint(invocation.operands[:2])
    if changes:
        return line.finding(places, None)
    return line.finding([place for place in places if place.startswith(".config/")], "")


# --- files of the folder --------------------------------------------------------------------------


def _upward(line: Line, name: str) -> Iterator[str]:
    """The files of that name in the folders and above them, without the person's own."""
    for folder in line.folders:
        at = os.path.realpath(folder)
        while True:
            path = os.path.join(at, name)
            if os.path.lexists(path) and os.path.realpath(at) != os.path.realpath(line.paths.user_home):
                yield path
            if at == os.path.dirname(at):
                break
            at = os.path.dirname(at)


def local_settings(_invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """The settings of `az` in a folder, which may name a source of extensions."""
    return Finding(places=places, code=tuple(_upward(line, ".azure/config")))


_OF_PROJECT = frozenset(("install", "ci", "i", "add", "update", "outdated"))
"""Verbs of npm that look at what the project needs."""


def npm_settings(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """Settings of npm in the folders that may name programs or another server, and packages from git."""
    verb, *named = invocation.operands or ("",)
    code: list[str] = []
    for folder in {*line.folders, *map(os.path.dirname, _upward(line, "package.json"))}:
        code += npm_packages.from_git(folder, named, project=verb in _OF_PROJECT)
    for path in _upward(line, ".npmrc"):
        try:
            text = beginning(path, MAX_SETTINGS_BYTES + 1)
        except (OSError, ValueError):
            code.append(path)
            continue
        keys = [
            line_.partition("=")[0].strip()
            for line_ in text.splitlines()
            if line_.strip()[:1] not in ("", "#", ";")
        ]
        harmless = pattern("credentials", "harmless_npm")
        code += [f"{key} in .npmrc" for key in keys if not harmless.fullmatch(key)]
        if len(text) > MAX_SETTINGS_BYTES:
            code.append(path)
    named_code = tuple(dict.fromkeys(clip(one, 80) for one in code))
    return Finding(places=places, code=named_code, guards=npm_packages.SWITCHED_OFF)


def sends_folder(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """What is built sees the folder, and so the credentials if they are in it."""
    roots = [os.path.realpath(folder) for folder in line.folders]
    within = [
        place
        for place in places
        if any(is_inside(os.path.realpath(os.path.join(line.paths.user_home, place)), root) for root in roots)
    ]
    if within and "build" in invocation.operands[:1]:
        return Finding(places=places, withheld="the folder that is built holds them")
    return Finding(places=places)


_SQL_THAT_RUNS = re.compile(
    r"""(?imx) \\ (?! (?:[dlz][a-z]*[+]? | x | timing | conninfo | encoding | pset | [aHt]) (?![\w!+]) )
    | (?:^|;) \s* (?:system|source|pager|tee|edit)\b"""
)
"""Commands of the clients themselves within SQL, but for those that describe tables and set formats."""


def plain_sql(invocation: Invocation, places: Sequence[str], line: Line) -> Finding:
    """SQL on the command line runs no program; a file or input might. A server may be one of the folder."""
    if invocation.piped or invocation.input or any(one.operator == "<" for one in invocation.redirects):
        return Finding(
            places=places, withheld="its input may run programs; give the statement with an option"
        )
    if any(_SQL_THAT_RUNS.search(word) for word in invocation.arguments):
        return Finding(places=places, withheld="a statement runs a program or another file")
    try:
        local = may_reach_this_machine(invocation, line.environ)
    except GetoptError as error:
        return Finding(places=places, withheld=f"its options are not known: {clip(str(error), 60)}")
    return Finding(places=places, code=("a server on this machine",) if local else ())


Check = Callable[[Invocation, Sequence[str], Line], Finding]
CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        transfers,
        submodules,
        signs,
        asks_git,
        local_settings,
        npm_settings,
        sends_folder,
        plain_sql,
    )
}
