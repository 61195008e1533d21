"""`ask_user`: the agent asks its person, and the turn waits without a worker until the answer is there."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from hermes_jobs.features.questions import rules
from hermes_jobs.kernel.engine.ports import ToolContext, ToolOutcome
from hermes_jobs.kernel.events import InputRequest
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.system.clock import Clock
from hermes_jobs.tools.tool import ToolFailed

MAX_CHOICES = 10
SECONDS = 7 * 86_400.0  # a question outlives a holiday of some days; a turn that waits costs nothing
Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=4_000)]
Choice: TypeAlias = Annotated[str, Meta(min_length=1, max_length=300)]
Choices: TypeAlias = Annotated[tuple[Choice, ...], Meta(min_length=1, max_length=MAX_CHOICES)]


class Asking(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Questions that wait for `SECONDS`; `unattended`: what becomes of those that nobody can see."""

    clock: Clock
    unattended: rules.Unattended

    def is_offered(self, session: Session) -> bool:
        """Whether questions of the session can be answered: not those of schedules, unless they wait."""
        kind = session.opening.kind if session.opening is not None else "conversation"
        return kind in {"conversation", "child"} or self.unattended != "refuse"

    def ask_user(
        self,
        context: ToolContext,
        question: Annotated[Text, "With what the user needs to decide."],
        choices: Annotated[Choices | None, "Up to ten; the one that you recommend first."] = None,
        several: Annotated[bool, "Any number of the choices may be chosen."] = False,
        free_text: Annotated[bool, "The user may answer in other words."] = True,
    ) -> ToolOutcome:
        """Ask the user one question, and wait for the answer.

        Only for decisions that are the user's and that you cannot find out: look first.
        """
        offered = tuple(dict.fromkeys(choices or ()))
        if not offered and not free_text:
            raise ToolFailed("give choices, or allow free text.")
        if context.input is not None:
            return ToolOutcome(content=rules.told(context.input))
        if not context.attended and self.unattended == "default":
            return ToolOutcome(content=rules.by_default(offered))
        request = rules.question(question, offered, several=several and bool(offered), free_text=free_text)
        return self.asked(context, request)

    def asked(self, context: ToolContext, request: InputRequest, nobody: str = rules.NOBODY) -> ToolOutcome:
        """The call waits for the answer, and is made again with it. Where nobody can answer, it has ended
        with the text `nobody`."""
        if not context.attended and self.unattended != "wait":
            return ToolOutcome(content=nobody, ok=False)
        waits = c.RequestInput(
            step=context.call,
            server="",
            requests=(request,),
            expires_at=self.clock.now() + SECONDS,
            unattended=not context.attended,
        )
        return ToolOutcome(content="", waits=waits)
