"""What a git command does: discards, rewrites, runs another program, sends elsewhere, or writes outside."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from hermes_jobs.agent.tools.arguments import values
from hermes_jobs.agent.tools.invocations import Invocation
from hermes_jobs.agent.tools.word_lists import words

_VALUED = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")

DISCARDS: Mapping[str, Callable[[Invocation], bool]] = {
    "push": lambda git: (
        git.has("-f", "-d", "--force", "--force-with-lease", "--mirror", "--delete", "--prune")
        or any(each.startswith(("+", ":")) for each in git.operands)
    ),
    "reset": lambda git: git.has("--hard", "--merge", "--keep"),
    "clean": lambda git: not git.has("-n", "--dry-run"),
    "checkout": lambda git: git.has("-f", "--force") or "--" in git.arguments or "." in git.operands,
    "switch": lambda git: git.has("-f", "--force", "--discard-changes", "-C"),
    "restore": lambda git: not git.has("-S", "--staged") or git.has("-W", "--worktree"),
    "branch": lambda git: git.has("-D") or (git.has("-d", "--delete") and git.has("-f", "--force")),
    "stash": lambda git: git.operands[:1] in (("drop",), ("clear",)),
    "reflog": lambda git: git.operands[:1] in (("expire",), ("delete",)),
    "worktree": lambda git: git.operands[:1] == ("remove",) and git.has("-f", "--force"),
    "tag": lambda git: git.has("-d", "-f", "--delete", "--force"),
    "gc": lambda git: git.has("--prune"),
    "rm": lambda git: git.has("-r", "-f", "--force") and not git.has("--cached", "-n", "--dry-run"),
    **dict.fromkeys(("filter-branch", "filter-repo", "update-ref", "replace", "prune"), lambda _git: True),
}
"""By git's verb, whether it discards what cannot be had back."""

_PLAIN_KEY = re.compile(
    r"(?:user|color|advice|init|log|pull|push|gc|i18n|column|status|branch|fetch|tag|rerere|safe|blame|pack|index"
    r"|feature|help|http\.(?:sslverify|lowspeed\w*|postbuffer|version)|commit\.(?:gpgsign|cleanup|verbose)"
    r"|merge\.(?:conflictstyle|ff|renames)|diff\.(?:algorithm|renames|color\w*|noprefix|context)"
    r"|rebase\.(?:auto\w+|updaterefs)|protocol\.version|submodule\.recurse|remote\.\w+\.fetch|branch\..*"
    r"|core\.(?:quotepath|autocrlf|eol|filemode|ignorecase|longpaths|abbrev|whitespace|safecrlf|bare|precomposeunicode"
    r"|preloadindex|untrackedcache|symlinks|logallrefupdates|compression))(?:\.|$)",
    re.IGNORECASE,
)
_QUIET_VALUE = re.compile(r"(?:cat|less|more|true|:|)$")
_PROGRAM_OPTIONS = (
    "--upload-pack",
    "--receive-pack",
    "--exec",
    "--exec-path",
    "--template",
    "--ext-diff",
    "--config",
)


def split(invocation: Invocation) -> tuple[Invocation, list[str], list[str]]:
    """The verb as a program of its own with its arguments, the settings of `-c`, the folders of `-C`."""
    rest = list(invocation.arguments)
    settings: list[str] = []
    folders: list[str] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, given, value = option.partition("=")
        if option in _VALUED and rest:
            value = rest.pop(0)
        elif not given:
            continue
        if name in ("-c", "--config-env"):
            settings.append(value)
        elif name in ("-C", "--git-dir", "--work-tree"):
            folders.append(value)
    verb = rest[0] if rest else ""
    return replace(invocation, name=verb, arguments=tuple(rest[1:])), settings, folders


def discards(invocation: Invocation) -> bool:
    """Whether it discards changes or history."""
    if invocation.name != "git":
        return False
    verb, _settings, _folders = split(invocation)
    return verb.name in DISCARDS and DISCARDS[verb.name](verb)


def runs_others(invocation: Invocation) -> bool:
    """Whether it has git run a program that the command line or a changed setting names."""
    if invocation.name != "git":
        return False
    verb, settings, _folders = split(invocation)
    if any(_sets_program(each) for each in settings) or any(
        each.startswith("--exec-path=") for each in invocation.arguments
    ):
        return True
    if any(each.startswith("ext::") for each in verb.arguments):
        return True
    return verb.name in _RUNS and _RUNS[verb.name](verb)


def _sets_program(setting: str) -> bool:
    key, _, value = setting.partition("=")
    return _PLAIN_KEY.match(key) is None and not (key.endswith("pager") and _QUIET_VALUE.match(value))


def _configures(verb: Invocation) -> bool:
    reads = ("-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--show-origin")
    if verb.has(*reads) or verb.operands[:1] in (("get",), ("list",)):
        return False
    if verb.has("--global", "--system", "-e", "--edit", "-f", "--file"):
        return len(verb.operands) > 1 or verb.has("-e", "--edit", "--unset", "--add", "--replace-all")
    words = verb.operands[1:] if verb.operands[:1] in (("set",), ("unset",)) else verb.operands
    return len(words) > 1 and _sets_program("=".join(words[:2]))


def _names_pack(verb: Invocation) -> bool:
    return verb.has(*_PROGRAM_OPTIONS)


def _clones_with(verb: Invocation) -> bool:
    options = [each for each in _PROGRAM_OPTIONS if each != "--config"]
    return verb.has(*options, "-u") or any(map(_sets_program, values(verb, "c", "--config")))


def _always(_verb: Invocation) -> bool:
    return True


_RUNS: Mapping[str, Callable[[Invocation], bool]] = {
    "config": _configures,
    "submodule": lambda verb: "foreach" in verb.operands[:1],
    "bisect": lambda verb: "run" in verb.operands[:1],
    "rebase": lambda verb: verb.has("-x", "--exec"),
    **dict.fromkeys(("difftool", "mergetool"), lambda verb: verb.has("-x", "--extcmd", "-t", "--tool")),
    "grep": lambda verb: verb.has("-O", "--open-files-in-pager"),
    **dict.fromkeys(("clone", "init"), _clones_with),
    **dict.fromkeys(("fetch", "pull", "push", "ls-remote", "archive"), _names_pack),
    **dict.fromkeys(
        ("instaweb", "daemon", "send-email", "credential", "shell", "maintenance", "hook", "web--browse"),
        _always,
    ),
}
"""By git's verb, whether it runs another program."""


def sends_elsewhere(invocation: Invocation) -> bool:
    """Whether it sends to a place that the command names itself, or changes where the next one sends."""
    if invocation.name != "git":
        return False
    verb, _settings, _folders = split(invocation)
    if verb.name == "push":
        return any(":" in each for each in verb.operands[:1])
    return verb.name == "remote" and verb.operands[:1] == ("set-url",)


_READS = frozenset(
    words(
        """
        log status diff show blame grep ls-files
        ls-tree rev-parse rev-list shortlog describe branch remote config
        cat-file ls-remote for-each-ref symbolic-ref
        """
    )
)


def written_folders(invocation: Invocation) -> list[str]:
    """The folders that it names to write in."""
    if invocation.name != "git":
        return []
    verb, _settings, folders = split(invocation)
    named = [] if verb.name in _READS else list(folders)
    if verb.name in ("clone", "init"):
        named += verb.operands[1:2] if verb.name == "clone" else verb.operands[:1]
    if verb.name == "worktree" and verb.operands[:1] == ("add",):
        named += verb.operands[1:2]
    if verb.name in ("bundle", "archive", "format-patch"):
        named += values(verb, "o", "--output", "--output-directory")
    return named
