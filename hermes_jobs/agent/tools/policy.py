"""Whether a command may run: the deny list, the configured allow list, and the policy for the rest."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hermes_jobs.agent.tools.dangerous import DANGEROUS, reads_whole_home
from hermes_jobs.agent.tools.denied import DENIED, raw_denial
from hermes_jobs.agent.tools.fetched import runs_fetched
from hermes_jobs.agent.tools.invocations import Invocation, find_starts, invocations
from hermes_jobs.agent.tools.places import NEEDED
from hermes_jobs.agent.tools.processes import MAX_COMMAND_BYTES
from hermes_jobs.agent.tools.roots import Roots
from hermes_jobs.agent.tools.rules import Place, Rule, first_match
from hermes_jobs.agent.tools.sandbox import Reach
from hermes_jobs.agent.tools.tool import ALLOW
from hermes_jobs.agent.tools.word_lists import words
from hermes_jobs.agent.tools.words import UNKNOWN, Unparsable
from hermes_jobs.engine.ports import ToolContext, Verdict

OUTSIDE = frozenset(
    words(
        """
            sudo doas su pkexec runuser mount umount systemctl systemd-run loginctl crontab at batch docker
            docker-compose podman nerdctl unshare nsenter chroot bwrap
            """
    )
)
"""Programs that cannot work behind a wall: they act as another user, or ask a service outside to act."""

PLAIN = frozenset(
    words(
        """
            [ : basename cat cd column comm cut date diff dirname du echo exit expr false fold grep head jq
            ls mkdir nl paste printf pwd realpath return rev rg seq set sleep sort stat tac tail tee test
            time touch tr true type uniq wc which whoami
            """
    )
)
"""Programs that run no others: beside them a program may use its own credentials."""


@dataclass(frozen=True, kw_only=True)
class CommandPolicy:
    """`policy` is for dangerous commands. Unless `allow` is empty each command must match one of it."""

    roots: Roots
    policy: Literal["allow", "ask", "deny"] = "ask"
    allow: tuple[str, ...] = ()

    def verdict(self, command: str, context: ToolContext) -> Verdict:
        """Judge a command line: first what is never run, then `allow`, then what is dangerous."""
        try:
            found = self._invocations(command, context)
        except Unparsable as error:
            return self._unreadable(command, str(error), context)
        place = self._place(command, found, context)
        never = raw_denial(command, parsed=True) or _first_name(DENIED, found, place)
        if never:
            return Verdict("deny", never)
        for invocation in found if self.allow else ():
            if not self._is_allowed(invocation):
                return Verdict("deny", f"terminal.allow has no pattern for `{_shown(invocation)}`")
        dangerous = _first_name(DANGEROUS, found, place) or _of_line(found, place)
        return self._dangerous(dangerous, context) if dangerous else ALLOW

    def _place(self, command: str, found: Sequence[Invocation], context: ToolContext) -> Place:
        activates = any(
            each.name in ("source", ".") and any(word.endswith("/bin/activate") for word in each.operands)
            for each in found
        )
        return Place(context.workdir, self.roots, "$(" in command or "`" in command, activates)

    def reach(self, command: str, context: ToolContext) -> Reach:
        """How far a command may reach that runs now: further where a person has approved it."""
        try:
            found = self._invocations(command, context)
        except Unparsable:
            found = []
        names = {each.name for each in found if each.name}
        if context.approved:
            return Reach(everything=not OUTSIDE.isdisjoint(names), visible=None)
        if names <= NEEDED.keys() | PLAIN:
            return Reach(visible=tuple(place for name in names for place in NEEDED.get(name, ())))
        return Reach()

    def _invocations(self, command: str, context: ToolContext) -> list[Invocation]:
        if len(command) > MAX_COMMAND_BYTES:
            raise Unparsable(f"it is longer than {MAX_COMMAND_BYTES:,} characters")
        own_job = {"!": "%+"}  # as job control calls what was last started in the background
        variables = {"HOME": self.roots.user_home, "PWD": context.workdir, "IFS": " ", **own_job}
        return invocations(command, context.workdir, variables)

    def _unreadable(self, command: str, why: str, context: ToolContext) -> Verdict:
        never = raw_denial(command, parsed=False)
        if never:
            return Verdict("deny", never)
        if self.allow:
            return Verdict("deny", f"terminal.allow: the command cannot be checked, {why}")
        return self._dangerous(f"a command that cannot be checked: {why}", context)

    def _dangerous(self, rule: str, context: ToolContext) -> Verdict:
        if self.policy == "allow":
            return ALLOW
        if self.policy == "ask" and context.attended:
            return Verdict("ask", rule)
        why = "terminal.policy is deny" if self.policy == "deny" else "nobody can be asked in this turn"
        return Verdict("deny", f"{rule} ({why})")

    def _is_allowed(self, invocation: Invocation) -> bool:
        """Whether one pattern matches the command as written; its program must be known."""
        if UNKNOWN in invocation.name:
            return False
        text = " ".join(invocation.written)
        return any(re.match(fnmatch.translate(pattern), text) for pattern in self.allow)


def _of_line(found: Sequence[Invocation], place: Place) -> str | None:
    """The rule that the line meets as a whole."""
    if runs_fetched(found):
        return "running downloaded or unseen text"
    home = {"/", "/home", "/root", place.roots.user_home, place.roots.home}
    finds = any(
        each.name in ("find", "fd", "ls", "locate")
        and home.intersection(map(each.path, find_starts(each.arguments)))
        for each in found
    )
    if (finds and any(each.given for each in found)) or any(reads_whole_home(each, place) for each in found):
        return "reading keys or passwords"
    return None


def _first_name(rules: Sequence[Rule], found: Sequence[Invocation], place: Place) -> str | None:
    matches = (first_match(rules, each, place) for each in found)
    return next((each.name for each in matches if each), None)


def _shown(invocation: Invocation) -> str:
    text = " ".join(invocation.written).replace(UNKNOWN, "…")
    return text if len(text) <= 80 else f"{text[:79]}…"
