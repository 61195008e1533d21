"""`session.title`: a model names the conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from hermes_jobs.errors import Rejected
from hermes_jobs.features.titles.api import is_free
from hermes_jobs.features.titles.titles import title_keys, title_request
from hermes_jobs.kernel.engine.handlers.helper_calls import Asked, TextCalls
from hermes_jobs.kernel.engine.ports import ModelRequest, Pricing, SpendingApproval
from hermes_jobs.kernel.helper_calls import HelperCall, fail, failure
from hermes_jobs.kernel.streams.decision import Decision, UniqueKey
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.title_step import MAX_ATTEMPTS, give
from hermes_jobs.kernel.turns.titles import clean_title, numbered

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.engine.model_calls import ModelCalls
    from hermes_jobs.kernel.engine.ports import StepHandler
    from hermes_jobs.kernel.turns.steps import StepKind

LONGEST = 60
"""Characters of a title; a longer one is cut at a word."""
MOST_ALIKE = 50
"""Numbered variants of the title that are tried if it is taken."""
_LABEL = re.compile(r"(?:\*\*)?(?:title|titel|titre|título|标题)(?:\*\*)?\s*[:\uff1a]\s*", re.IGNORECASE)
_AROUND = " \t\"'`*_#“”„‟«»‹›「」『』."


class MakeTitle(TextCalls[Session], frozen=True, kw_only=True, eq=False):
    """One small request; its answer becomes the title.

    `reserve_for(session, request, pricing)` is the approval to spend. `is_free(session, title)` says whether
    no other lineage has that title, `keys_of(lineage, title)` are the keys that reserve it.
    """

    purpose: ClassVar[str] = "title"
    max_attempts: ClassVar[int | None] = MAX_ATTEMPTS
    reserve_for: Callable[[Session, ModelRequest, Pricing], SpendingApproval]
    is_free: Callable[[Session, str], bool]
    keys_of: Callable[[str, str], tuple[UniqueKey, ...]]

    def unwanted(self, state: Session) -> tuple[str, str] | None:
        """See `HelperCalls.unwanted`."""
        return None if state.needs_title else ("not_needed", "The session needs no title any more.")

    def request(self, state: Session, call: HelperCall) -> ModelRequest:
        """See `HelperCalls.request`."""
        return title_request(state, self.chosen.name)

    def reserve(self, state: Session, request: ModelRequest) -> SpendingApproval:
        """See `HelperCalls.reserve`."""
        return self.reserve_for(state, request, self.chosen.pricing)

    def on_reply(self, state: Session, asked: Asked[ModelRequest, str]) -> Decision:
        """See `HelperCalls.on_reply`."""
        title = self._free(state, title_of(asked.answer))
        if title is None:
            failed = failure(asked.call, "no_title", "The answer holds no title.")
            return fail(state.stream, failed, *asked.responses)
        return give(state, asked.call, title, self.keys_of(state.lineage, title), asked.responses)

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


def handlers(_application: Application, calls: ModelCalls) -> Mapping[StepKind, StepHandler]:
    """The handler of each kind of step."""
    make = MakeTitle(
        retries=calls.retries,
        chosen=calls.set_apart("title") or calls.models.turn,
        reserve_for=calls.guard.approve_title,
        is_free=partial(is_free, calls.engine),
        keys_of=partial(title_keys, calls.engine.log),
    )
    return {"session.title": make}
