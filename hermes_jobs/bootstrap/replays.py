"""Replays: the requests of recorded calls, changes to them, and the verification of a review's results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from hermes_jobs.features.memory.entry_recall import HEADING
from hermes_jobs.features.memory.prompt_section import with_entry, without_entry
from hermes_jobs.features.replay.replayed_requests import ReplayedRequests
from hermes_jobs.features.replay.rules.experiment import Experiment, stream_of
from hermes_jobs.features.replay.rules.verification import NAMES
from hermes_jobs.features.replay.steps.verify import PlanVerification
from hermes_jobs.features.replay.verified_turns import PastTurn, VerifiedTurns, saved_items
from hermes_jobs.features.skills.presenter import with_skill, without_skill
from hermes_jobs.kernel.turns.messages import AssistantMessage, Message, ToolMessage, UserMessage
from hermes_jobs.prompt.fences import CLOSE, NOTE, OPEN, with_recall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hermes_jobs.features.replay.events import Exclusion, Inclusion, VerificationRequested
    from hermes_jobs.features.replay.replayed_requests import BuildRequest
    from hermes_jobs.kernel.engine.engine import Engine
    from hermes_jobs.kernel.engine.ports import ModelRequest
    from hermes_jobs.kernel.engine.repository import StreamRepository
    from hermes_jobs.kernel.views.views import Views
    from hermes_jobs.settings import Settings


READING = "skill_view"
NO_SKILL = "Error: There is no skill {name!r}. See skills_list."


def replayed_requests(sessions: StreamRepository, build: BuildRequest) -> ReplayedRequests:
    """The requests of the sessions' recorded calls, which `build` makes as it made them then."""
    return ReplayedRequests(sessions, build, leave_out, put_in)


def leave_out(request: ModelRequest, item: Exclusion) -> ModelRequest:
    """The request without a memory entry or a skill: without its line in the prompt and in the recalled
    context, and without the reads of it."""
    if item.kind == "memory":
        return replace(
            request,
            system_prompt=without_entry(request.system_prompt, item.text),
            messages=tuple(without_recalled(message, item.text) for message in request.messages),
        )
    return replace(
        request,
        system_prompt=without_skill(request.system_prompt, item.name),
        messages=tuple(_unread(request.messages, item.name)),
    )


def without_recalled(message: Message, entry: str) -> Message:
    """The message without that entry of the memory among what was recalled for it; the same where it is not
    there."""
    before, between, recall = message.content.rpartition(f"\n\n{OPEN}\n{NOTE}\n\n")
    if not isinstance(message, UserMessage) or not between:
        return message
    line = re.compile(rf"- \d{{4}}-\d\d-\d\d: {re.escape(' '.join(entry.split()))}\Z")
    parts = recall.removesuffix(f"\n{CLOSE}").split("\n\n")
    remaining = ["\n".join(text for text in part.split("\n") if not line.match(text)) for part in parts]
    if remaining == parts:
        return message
    recalled = "\n\n".join(part for part in remaining if part != HEADING)
    return with_recall(replace(message, content=before), recalled)


def put_in(request: ModelRequest, item: Inclusion, *, unrelated: bool) -> ModelRequest:
    """The request as it would be with a memory entry, or a skill: its line in the prompt, and its text too,
    as if it had been read, unless the turn is unrelated."""
    prompt = request.system_prompt
    if item.kind == "memory":
        return replace(request, system_prompt=with_entry(prompt, item.target, item.text, item.old))
    return replace(request, system_prompt=with_skill(prompt, item.name, item.text, read=not unrelated))


def _unread(messages: Sequence[Message], name: str) -> Sequence[Message]:
    """The messages in which that skill was not there to be read."""
    calls = {
        call.id
        for message in messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
        if call.name == READING and _named(call.arguments) == name
    }
    missing = NO_SKILL.format(name=name)
    return [
        replace(message, content=missing, failed=True)
        if isinstance(message, ToolMessage) and message.tool_call in calls
        else message
        for message in messages
    ]


def _named(arguments: str) -> str:
    try:
        return str(msgspec.json.decode(arguments, type=dict[str, object]).get("name", ""))
    except msgspec.DecodeError:
        return ""


LOOKED_AT = 200  # newest turns among which unrelated ones are looked for


def plan_verification(settings: Settings, engine: Engine, views: Views) -> PlanVerification:
    """The handler of `verification.plan`."""
    judge = settings.auxiliary.model or settings.model_name
    return PlanVerification(
        partial(_saved, engine),
        VerifiedTurns(engine.log, engine.sessions, partial(_others, views)),
        judge=settings.models.aliases.get(judge, judge),
        budget_usd=settings.learning.budget_usd,
    )


def verifications_of(engine: Engine, review: str) -> Iterator[Experiment]:
    """The verifications of a review's results; more than one if it was resumed."""
    for head in engine.log.streams(stream_of(f"{NAMES}{review}")):
        experiment = engine.state(head.stream)
        assert isinstance(experiment, Experiment), f"{head.stream} is not an experiment"
        if experiment.request is not None and experiment.request.review == review:
            yield experiment


def waiting_verifications(engine: Engine) -> Iterator[Experiment]:
    """The verifications that wait for the next day because the day's budget is used up."""
    now = engine.clock.now()
    later = (row.step.stream for row in engine.log.steps() if row.step.not_before > now)
    for stream in dict.fromkeys(candidate for candidate in later if candidate.startswith(stream_of(NAMES))):
        experiment = engine.state(stream)
        assert isinstance(experiment, Experiment), f"{stream} is not an experiment"
        if experiment.waiting is not None:
            yield experiment


def _saved(engine: Engine, request: VerificationRequested) -> Sequence[Inclusion]:
    """What the review saved, and no other verification of it is about."""
    others = [
        verification
        for verification in verifications_of(engine, request.review)
        if verification.stream != stream_of(request.experiment)
    ]
    entries = {
        (item.kind, item.versions)
        for other in others
        for variant in (other.plan.variants if other.plan else ())
        for item in variant.including
    }
    return [
        item for item in saved_items(engine.log, request.review) if (item.kind, item.versions) not in entries
    ]


def _others(views: Views) -> Sequence[PastTurn]:
    return [
        PastTurn(id=turn.id, stream=turn.stream, text=turn.text, ended_at=turn.ended_at)
        for turn in views.turns(status="completed", limit=LOOKED_AT)
        if turn.ended_at is not None
    ]
