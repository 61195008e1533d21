"""What git with keys would run of its repositories: the checks of `credentials.toml` for git and `gh`."""

# Paths are compared as text, which pathlib hides.

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from hermes_jobs.text.clip import clip
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.command_rules.written_paths import values
from hermes_jobs.tools.credential_line import Finding, Line
from hermes_jobs.tools.git_program import Unreadable
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.repositories import (
    Repository,
    Setting,
    current_branch,
    examine,
    submodule_folders,
)
from hermes_jobs.tools.tables import load

SSH_PLACES = frozenset({".ssh"})


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
