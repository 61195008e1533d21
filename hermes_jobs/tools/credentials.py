"""Which keys a command line sees: `data/credentials.toml`.

No process tree that may run code of the working folder sees a key, unless a person has approved that with the
code named. So keys are shown by program, verb and options, after a look at what the program would run of the
folder.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH112, PTH118

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

import msgspec

from hermes_jobs.system.struct_types import described
from hermes_jobs.tools.command_line import CommandPart
from hermes_jobs.tools.command_rules import git
from hermes_jobs.tools.credential_checks import CHECKS, chosen_version, for_this_machine
from hermes_jobs.tools.credential_checks_git import SSH_PLACES
from hermes_jobs.tools.credential_line import Finding, Line, ways
from hermes_jobs.tools.git_program import Git
from hermes_jobs.tools.invocations import Invocation
from hermes_jobs.tools.judging_budget import Unparsable
from hermes_jobs.tools.key_environment import applied, key_environment, names_folder
from hermes_jobs.tools.key_obstacles import obstacles
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.plain_line import unusual
from hermes_jobs.tools.shell_words import UNKNOWN
from hermes_jobs.tools.tables import load

AGENT = "SSH_AUTH_SOCK"
"""The variable with the socket of the person's ssh-agent, which is a key of ssh too."""
MAX_FOLDERS = 4
"""The most folders in which a line may run, through `cd`, and still see keys."""


class CredentialRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of `data/credentials.toml`, which describes its fields."""

    programs: str
    places: tuple[str, ...]
    verbs: str = ""
    but: str = ""
    options: str = ".*"
    unless: str = ""
    also: str = ""
    code: str = ""
    told: str = ""
    check: str = ""
    asks: bool = False
    approved: bool = False

    def is_for(self, invocation: Invocation) -> bool:
        """Whether the row is for this verb and these arguments."""
        arguments = invocation.arguments
        if invocation.name == "git":
            verb = git.split_verb(invocation)[0].name
        else:
            verb = _verb(["compose", *arguments] if invocation.name == "docker-compose" else arguments)
        return (
            (not self.verbs or verb in self.verbs.split())
            and verb not in self.but.split()
            and set(self.unless.split()).isdisjoint(arguments)
            and (not self.also or self.also in arguments)
        )

    def other_option(self, invocation: Invocation) -> str:
        """The first option that the row does not know; empty if there is none."""
        rest = iter(invocation.arguments)
        for word in rest:
            option = f"{word}{next(rest, '')}" if word == "-o" and "-o(?:" in self.options else word
            if word.startswith("-") and word != "-" and not re.fullmatch(self.options, option, re.DOTALL):
                return option
        return ""


_LEADING = frozenset({"-n", "--namespace", "--context", "--kube-context", "-R", "--repo", "--profile"}) | {
    *("--region", "-f", "--file", "-p", "--project-name", "--env-file", "--project-directory")
}
_GROUPS = frozenset(("compose", "container", "image", "network", "volume", "system", "context", "buildx"))
"""Verbs of docker that have verbs of their own."""


def _verb(arguments: Sequence[str]) -> str:
    """The first argument behind options that are known to have a value."""
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _LEADING:
            rest[:1] = []
        elif "=" not in option:
            return ""
    verb = rest[0] if rest else ""
    return f"{verb}/{_verb(rest[1:])}" if verb in _GROUPS else verb


@cache
def _table() -> Mapping[str, Sequence[CredentialRow]]:
    """The rows by program."""
    rows = msgspec.convert(load("credentials")["row"], described(tuple[CredentialRow, ...]))
    plain = (
        CredentialRow(programs=program, places=tuple(places), approved=True)
        for program, places in load("credentials")["approved"].items()
    )
    table: dict[str, list[CredentialRow]] = {}
    for row in chain(rows, plain):
        for program in row.programs.split():
            table.setdefault(program, []).append(row)
    return table


def rows_of(program: str) -> Sequence[CredentialRow]:
    """The rows of a program."""
    return _table().get(program, ())


@dataclass(frozen=True, kw_only=True)
class Keys:
    """The keys of a command line. `code`: what of the folder would see them, so that a person is asked;
    `hidden`: keys that it does not see, and `withheld`, why; `variables`: changes of its environment, None:
    without that variable."""

    places: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    withheld: str = ""
    variables: Mapping[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def question(self) -> str:
        """The question about showing them to code of the folder; empty if there is none."""
        if not (self.code and self.places):
            return ""
        return f"{SHOWING} {_listed(self.places)} to {', '.join(self.code)}"

    def unapproved(self) -> Keys:
        """The keys of the line where nobody has approved that the code sees them."""
        if not self.code:
            return self
        return Keys(hidden=self.places, withheld=f"they would be shown to {', '.join(self.code)}")

    @property
    def note(self) -> str:
        """A line for the model on keys that it did not see; empty if there are none."""
        if not self.hidden:
            return ""
        return (
            f"[Hidden from this command: {_listed(self.hidden)}, because {self.withheld}. If it failed for "
            "want of these, run the program that needs them as a command of its own, or tell the user.]"
        )


_CHANGES_FOLDER = re.compile(r"-\w*C|--c")
"""Options of `env`, whose program may have the like: it is not known where that runs."""
SHOWING = "showing"
NO_KEYS = Keys()


def _listed(places: Sequence[str]) -> str:
    return ", ".join(place if place.startswith(("/", "$")) else f"~/{place}" for place in places)


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """Decides what commands see. `environ` is what they get; services in `visible` all of them see."""

    paths: PathPolicy
    visible: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)

    def of(self, parts: Sequence[CommandPart], workdir: str, *, approved: bool, text: str = "") -> Keys:
        """The keys of a line with that text. `approved`: somebody has approved the call, or will have."""
        uses = [
            (part, row, places)
            for part in parts
            for row in rows_of(part.invocation.name)
            if row.is_for(part.invocation) and (approved or not row.approved)
            if (places := self._existing(row.places))
        ]
        if not uses:
            return NO_KEYS
        changes = key_environment(self.environ, self.paths, workdir)
        line, obstacle = self.line([part.invocation for part in parts], workdir, changes)
        findings = [self._finding(part.invocation, row, places, line) for part, row, places in uses]
        using = [part for (part, _, _), finding in zip(uses, findings, strict=True) if finding.places]
        if not using:
            return NO_KEYS
        if what := unusual(text):
            obstacle = obstacle or f"{what} in it may mean something else to the shell"
        try:
            obstacle = obstacle or next(filter(None, obstacles(parts, using, line)), "")
            obstacle = obstacle or chosen_version(line)
        except Unparsable as error:
            obstacle = str(error)
        if obstacle:
            return Keys(hidden=_united(findings), withheld=obstacle)
        # What git runs beside another program would see that one's keys.
        beside = [line.finding((), line.hooks)] if line.verbs else []
        return self._shown([*findings, *beside], changes)

    def _shown(self, findings: Sequence[Finding], changes: Mapping[str, str | None]) -> Keys:
        """What the findings show together. Code of the folder that was approved runs as it is."""
        shown = [finding for finding in findings if not finding.withheld]
        hidden = [finding for finding in findings if finding.withheld and finding.places]
        code = tuple(dict.fromkeys(one for finding in shown for one in finding.code))
        variables = dict(changes)
        for finding in () if code else shown:
            variables |= finding.guards
        places = _united(shown)
        if AGENT in self.environ and not SSH_PLACES.isdisjoint(places):
            places = (*places, f"${AGENT}")
        return Keys(
            places=places,
            code=code,
            hidden=_united(hidden),
            withheld=hidden[0].withheld if hidden else "",
            variables=variables if places else {},
        )

    def _existing(self, places: Sequence[str]) -> list[str]:
        """The places that are there on this machine."""
        named = [place.format(uid=os.getuid()) for place in places]
        return [
            place
            for place in named
            if not (place in self.visible and place.startswith(("/", "$"))) and self._exists(place)
        ]

    def _exists(self, place: str) -> bool:
        return (
            place.removeprefix("$") in self.environ
            or os.path.lexists(os.path.join(self.paths.user_home, place))
            or (AGENT in self.environ and place in SSH_PLACES)
        )

    def _finding(
        self, invocation: Invocation, row: CredentialRow, places: Sequence[str], line: Line
    ) -> Finding:
        if row.told:
            return Finding(places=places, withheld=row.told)
        other = row.other_option(invocation)
        if other and not row.asks:
            return Finding(places=places, withheld=f"`{other}` may name other settings or a program")
        finding = CHECKS[row.check](invocation, places, line) if row.check else Finding(places=places)
        named = [*([row.code] if row.code else ()), *([f"what `{other}` names"] if other else ())]
        if invocation.name != "git" and (local := for_this_machine(finding.places, self.paths.user_home)):
            named.append(f"a server of this machine ({_listed(local)})")
        return finding if not named else replace(finding, code=(*named, *finding.code))

    def line(
        self, invocations: Sequence[Invocation], workdir: str, changes: Mapping[str, str | None]
    ) -> tuple[Line, str]:
        """The line with the folders in which it may run, and what stands against its seeing keys.

        `changes`: those of its environment."""
        environ = applied({"HOME": self.paths.user_home, "PATH": os.defpath, **self.environ}, changes)
        folders, obstacle = [os.path.normpath(workdir)], ""
        for invocation in invocations:
            if invocation.name == "env" and any(map(_CHANGES_FOLDER.match, invocation.arguments)):
                obstacle = "`env -C` leads to another folder"
            if invocation.name != "cd":
                continue
            target = next(iter(invocation.operands), self.paths.user_home)
            if (
                UNKNOWN in target
                or target == "-"
                or not os.path.isdir(os.path.join(invocation.folder, target))
            ):
                obstacle = f"`cd {target}` may lead anywhere".replace(UNKNOWN, "…")
            reached = (path for folder in folders for path in ways(os.path.join(folder, target)))
            folders = list(dict.fromkeys((*folders, *filter(os.path.isdir, reached))))[: MAX_FOLDERS + 1]
        if len(folders) > MAX_FOLDERS:
            obstacle = "it goes through too many folders"
        for variable in names_folder(environ, self.paths, workdir):
            obstacle = obstacle or f"{variable} names a file of this folder"
        own = applied(environ, key_environment(environ, self.paths, workdir))  # never a git of the folder
        line = Line(
            invocations=invocations,
            folders=folders,
            environ=environ,
            paths=self.paths,
            workdir=workdir,
            git=Git(shutil.which("git", path=own.get("PATH")) or "git", own),
        )
        return line, obstacle


def _united(findings: Sequence[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(place for finding in findings for place in finding.places))
