"""A command line in parts, for users' rules: the questions of each part, and whether it only reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hermes_jobs.kernel.events import CallPattern
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.command_rules.context import CommandContext, path_words
from hermes_jobs.tools.inside import is_inside
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.path_policy import INSTRUCTING
from hermes_jobs.tools.shell_words import UNKNOWN, ShellRedirect
from hermes_jobs.tools.tables import load, words

PUSHING = "pushing to a shared repository"
SHARED = (PUSHING, "publishing or sending", "changing what a service holds", "changing a database")
"""Questions about what others share: they are for docs/approvals.md."""

CONFINED = frozenset({"deleting folders or many files", "changing the rights of many files"})
"""Questions that a pattern answers only for paths in its folder."""

NOT_BY_PATTERN = frozenset(
    {
        "acting as another user",
        "code on the command line that does more than compute",
        "having git run another program",
        "having one program run another",
        "reading files that are known only when it runs",
        "reading keys or passwords",
        "running code from outside the working folder",
        "running downloaded or unseen text",
        "writing files that run by themselves",
        INSTRUCTING,
        "writing outside the working folder",
    }
)
"""Questions that no pattern with a wildcard answers: the arguments can be any command."""

ALWAYS_ASKED = frozenset({"reading keys or passwords", "writing files that run by themselves", INSTRUCTING})
"""Questions that need an answer in every mode."""

OFFERED = frozenset(
    {
        "another host",
        "containers and clusters",
        "installing or removing software",
        PUSHING,
        "publishing or sending",
        "services and timers",
    }
)
"""Questions for which a pattern is offered; for others the exact command."""

_RUNS = re.compile(r"foreach$|run$|-\w*x|--exec|--upload-pack")
"""Arguments by which git runs another program, or may: `rebase -x`, `bisect run`, `submodule foreach`."""

_TO_NOWHERE = re.compile(r"/dev/null|\d|-")


@dataclass(frozen=True)
class CommandPart:
    """One program of a line, and the questions that it raises."""

    invocation: Invocation
    asks: tuple[str, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it is a plain command: known words, without redirections or input."""
        invocation = self.invocation
        return (
            invocation.words[:1] == (invocation.program,)
            and not invocation.given
            and not invocation.input
            and all(map(_is_harmless, invocation.redirects))
        )

    def plain_verb(self) -> str:
        """The verb of git, if neither a setting nor an argument names a program to run; else empty."""
        if self.invocation.name != "git" or self.invocation.program != "git":
            return ""
        verb, settings, _ = git.split_verb(self.invocation)
        runs = settings or not all(map(_is_harmless, self.invocation.redirects))
        return "" if runs or any(map(_RUNS.match, verb.arguments)) else verb.name

    def only_reads(self) -> bool:
        """Whether it changes nothing, by the table of such commands."""
        invocation = self.invocation
        name, arguments = invocation.name, invocation.arguments
        if self.asks or not self.is_plain or invocation.program != name:
            return False
        if name == "git":
            verb, settings, _ = git.split_verb(invocation)
            listed = verb.name in words("reading", "git") and not settings
        else:
            listed = name in words("reading", "programs")
        unless = load("reading")["unless"].get(name)
        maximum = load("reading")["operands"].get(name)
        return (
            listed
            and not (unless and any(re.fullmatch(unless, word, re.DOTALL) for word in arguments))
            and (maximum is None or len(invocation.operands) <= maximum)
        )

    def is_named_by(self, calls: CallPattern) -> bool:
        """Whether the pattern matches it word by word, with `*` at the end for any further words."""
        invocation = self.invocation
        words = calls.pattern.split()
        return any(
            _fits(words, text) for text in (invocation.words, (invocation.name, *invocation.arguments))
        )

    def is_covered_by(self, calls: CallPattern, context: CommandContext) -> bool:
        """Whether the pattern allows it with all its questions."""
        invocation = self.invocation
        if not self.is_plain or not _fits(calls.pattern.split(), invocation.words):
            return False
        if not NOT_BY_PATTERN.isdisjoint(self.asks):
            return False
        if calls.answers is not None and not {*self.asks} <= {*calls.answers}:
            return False
        folder = context.real(calls.folder or context.workdir)
        if calls.folder and not is_inside(context.real(invocation.folder), folder):
            return False
        return CONFINED.isdisjoint(self.asks) or all(
            path is not None and is_inside(context.real(path), folder) and context.real(path) != folder
            for path in map(
                invocation.path, (word for word in path_words(invocation) if not word.startswith("-"))
            )
        )


@dataclass(frozen=True)
class CommandLine:
    """A complete line. `unreadable`: why it cannot be parsed; `asks`: the questions of the whole line;
    `shows_keys`: the question about keys that code of the folder would see, which is answered once at a time.
    """

    parts: tuple[CommandPart, ...]
    context: CommandContext
    asks: str = ""
    unreadable: str = ""
    shows_keys: str = ""

    def only_reads(self) -> bool:
        """Whether it changes nothing."""
        return self._is_known(self.parts) and all(part.only_reads() for part in self.parts)

    def brings_what_repositories_have(self) -> bool:
        """Whether it is git, checking files out of what a repository has, beside programs that only read."""
        verbs = [part.plain_verb() for part in self.parts]
        brings = [verb in words("reading", "bringing") for verb in verbs]
        return any(brings) and all(
            brought or verb in words("reading", "beside_bringing") or part.only_reads()
            for brought, verb, part in zip(brings, verbs, self.parts, strict=True)
        )

    def is_named_by(self, calls: CallPattern) -> bool:
        """Whether the pattern matches one of its parts."""
        return any(part.is_named_by(calls) for part in self.parts)

    def allowed_by(
        self, patterns: Sequence[CallPattern], *, everyday_runs: bool = False
    ) -> tuple[CallPattern, ...]:
        """The patterns that together allow the line; none if a part is neither allowed nor read-only.

        `everyday_runs`: a command without a question runs by itself, so beside a push it needs no pattern."""
        push = self._push if everyday_runs else None
        if not self._is_known(self.parts if push is None else (push,)):
            return ()
        used: list[CallPattern] = []
        for part in self.parts:
            covers = next(
                (pattern for pattern in patterns if part.is_covered_by(pattern, self.context)), None
            )
            if covers is not None:
                used.append(covers)
            elif not (part.only_reads() or (push is not None and not part.asks)):
                return ()
        return tuple(dict.fromkeys(used))

    @property
    def asks_nothing(self) -> bool:
        """Whether it has no question."""
        asked = self.asks or self.unreadable or self.shows_keys
        return not asked and not any(part.asks for part in self.parts)

    @property
    def is_always_asked(self) -> bool:
        """Whether it has a question that needs an answer in every mode."""
        return bool(self.shows_keys) or not ALWAYS_ASKED.isdisjoint(
            {self.asks, *(ask for part in self.parts for ask in part.asks)}
        )

    def _is_known(self, parts: Sequence[CommandPart]) -> bool:
        """Whether those of its parts are known to the last word, and no question is about the whole line."""
        return (
            bool(parts)
            and all(UNKNOWN not in word for part in parts for word in part.invocation.words)
            and not self.asks
            and not self.unreadable
            and not self.shows_keys
        )

    @property
    def _push(self) -> CommandPart | None:
        """The one part with a question, if that is about a push alone."""
        asking = [part for part in self.parts if part.asks]
        return asking[0] if len(asking) == 1 and asking[0].asks == (PUSHING,) else None

    def offer(self, command: str, folder: str, *, everyday_runs: bool = False) -> CallPattern | None:
        """The rule to offer with an approval: the exact command, or for some a pattern of it.

        `everyday_runs`: see `allowed_by`."""
        if self.shows_keys:
            return None
        only = self.parts[0] if len(self.parts) == 1 else self._push if everyday_runs else None
        pattern = self._pattern(only) if only is not None and self._is_known((only,)) else ""
        if only is None or not pattern:
            return CallPattern(tool="terminal", pattern=command.strip(), exact=True, folder=folder)
        return CallPattern(tool="terminal", pattern=pattern, folder=folder, answers=only.asks)

    @staticmethod
    def _pattern(part: CommandPart) -> str:
        """A pattern for a plain command; empty for others."""
        begins = _beginning(part.invocation.words)
        return f"{begins} *" if begins and part.is_plain and OFFERED.issuperset(part.asks) else ""


def _is_harmless(redirect: ShellRedirect) -> bool:
    return redirect.operator in {"<", "<&"} or _TO_NOWHERE.fullmatch(redirect.target) is not None


def _fits(pattern: Sequence[str], text: Sequence[str]) -> bool:
    """Whether the words match the pattern; a final `*` matches any number of them."""
    if pattern[-1:] == ["*"]:
        pattern, text = pattern[:-1], text[: len(pattern) - 1]
    return len(pattern) == len(text) and all(map(fnmatchcase, text, pattern))


def _beginning(words: Sequence[str]) -> str:
    """The program with its verb, such as `npm run build`; empty if that is too general."""
    name = words[0]
    verbs = load("reading")["verbs"].get(name)
    if verbs is None:
        return ""
    begins = list(words[: 1 + verbs])
    if len(begins) < 1 + verbs or any(word.startswith("-") for word in begins[1:]):
        return ""
    longer = load("reading")["longer"].get(" ".join(begins))
    if longer is not None:
        begins = list(words[: len(begins) + longer])
    return "" if any(re.search(r"[\s*?\[\]'\"\\\\]", word) for word in begins) else " ".join(begins)
