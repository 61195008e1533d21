"""`session.title`: a model names the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.steps.summariser import Summariser
from hermes_jobs.features.titles.titles import TITLE_ANSWER, title_request
from hermes_jobs.kernel.engine.handlers.failed_calls import Retries
from hermes_jobs.kernel.engine.ports import CANCELLED, Cancel, ConfiguredModel, ModelError, StepInterrupted
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.titles import clean_title, numbered

LONGEST = 60
"""Characters of a title; a longer one is cut at a word."""
MOST_ALIKE = 50
"""Numbered variants of the title that are tried if it is taken."""
_LABEL = re.compile(r"(?:\*\*)?(?:title|titel|titre|título|标题)(?:\*\*)?\s*[:\uff1a]\s*", re.IGNORECASE)
_AROUND = " \t\"'`*_#“”„‟«»‹›「」『』."


class MakeTitle(msgspec.Struct, frozen=True, eq=False):
    """A `StepHandler`: one small request; its answer becomes the title.

    `is_free(session, title)` says whether no other lineage has that title. A failed call is retried by
    `retries`, like one of a turn.
    """

    chosen: ConfiguredModel
    is_free: Callable[[Session, str], bool]
    retries: Retries

    def run(self, session: Session, step: Step, cancel: Cancel) -> c.StepOutcome:
        """Ask for the title. Raises `StepInterrupted`."""
        request = title_request(session, self.chosen.name)
        ask = Summariser(
            self.chosen.model, request.model, self.chosen.pricing, "title", cancel, session.lineage
        )
        try:
            reply = ask(request.system_prompt, request.messages[0].content, TITLE_ANSWER)
        except ModelError as error:
            if error.kind == CANCELLED:
                raise StepInterrupted from error
            return c.FinishTitle(
                step=step.id,
                responses=ask.usage_events(None, step.id),
                kind=error.kind,
                message=error.message,
                retry_at=self.retries.at(error, step.attempt - 1),
            )
        title = self._free(session, title_of(reply))
        kind = "" if title else "no_title"
        return c.FinishTitle(
            step=step.id, title=title, responses=ask.usage_events(None, step.id), kind=kind, message=""
        )

    def _free(self, session: Session, title: str) -> str | None:
        if not title:
            return None
        candidates = (title, *(f"{title} ({number})" for number in range(2, MOST_ALIKE)))
        return next((candidate for candidate in candidates if self.is_free(session, candidate)), None)


def title_of(reply: str) -> str:
    """The title in a model's reply: its first line with words, without decoration such as quotes; empty if
    there is none."""
    for line in reply.splitlines():
        words = _LABEL.sub("", line.strip(_AROUND), count=1).strip(_AROUND)
        try:
            title = clean_title(_cut(words))
        except Rejected:
            continue
        return numbered(title) or title
    return ""


def _cut(words: str) -> str:
    if len(words) <= LONGEST:
        return words
    head = words[:LONGEST]
    return head.rpartition(" ")[0].rstrip(" ,;:-–") or head
