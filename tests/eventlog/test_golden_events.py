"""What was stored once is read for ever: one file for each type and form, every field of it set.

`TYPE.SCHEMA.json` is a type's newest form. After a release no file is changed: when a field is added,
the file is kept as `TYPE.SCHEMA.before-FIELD.json` and the newest form gets a file of its own:
`python -m tests.eventlog.golden` writes both.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.codec import REPLACED, Codec
from hermes_jobs.kernel.streams.event_types import EVENT_TYPES
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns.attachments import Attachment, Heard
from hermes_jobs.kernel.turns.messages import Payload, ToolCall
from tests.eventlog import (
    api_examples,
    condition_examples,
    consolidation_examples,
    curation_examples,
    delegation_examples,
    delivery_examples,
    embedding_examples,
    experiment_examples,
    holding_examples,
    input_examples,
    learning_examples,
    mcp_examples,
    memory_examples,
    push_examples,
    replay_examples,
    schedule_examples,
    skill_examples,
    trigger_examples,
)

FOLDER = Path(__file__).parent.parent / "golden" / "events"
CODEC = Codec()

USAGE = Usage(1, 2, 3, 4, 5)
RESERVED = Reservation(
    model="m", input_tokens=100, output_tokens=20, day="2026-11-22", max_tokens=20, cost_usd=0.5
)
OFFER = e.CallPattern(tool="edit", pattern="src/*", exact=True, folder="/srv", answers=("deleting",))
ASKED = ToolCall("call_1", "read_file", '{"path": "a.txt" }')
CHANGE = e.FileChange(
    path="/srv/new/a.txt",
    before=e.FileState(digest="ab" * 32, size=4, mode=0o644, not_kept="80 MB"),
    after=e.FileState(digest="cd" * 32, size=2, mode=0o600),
    folders=("/srv/new",),
)
PICTURE = Attachment(
    digest="ab" * 32,
    media_type="image/jpeg",
    size=2_400_000,
    file_name="sign.jpg",
    sent="cd" * 32,
    width=1_568,
    height=1_045,
)
DOCUMENT = Attachment(
    digest="ef" * 32,
    media_type="application/pdf",
    size=80_000,
    file_name="paper.pdf",
    text="01" * 32,
    pages=2,
    characters=1_800,
)
EXAMPLES: tuple[e.Event, ...] = (
    *condition_examples.EXAMPLES,
    *consolidation_examples.EXAMPLES,
    *curation_examples.EXAMPLES,
    *delegation_examples.EXAMPLES,
    *delivery_examples.EXAMPLES,
    *experiment_examples.EXAMPLES,
    *input_examples.EXAMPLES,
    *learning_examples.EXAMPLES,
    *mcp_examples.EXAMPLES,
    *memory_examples.EXAMPLES,
    *replay_examples.EXAMPLES,
    *embedding_examples.EXAMPLES,
    *schedule_examples.EXAMPLES,
    *skill_examples.EXAMPLES,
    *api_examples.EXAMPLES,
    *push_examples.EXAMPLES,
    *holding_examples.EXAMPLES,
    *trigger_examples.EXAMPLES,
    e.SessionStarted(
        session="s1",
        kind="review",
        source="cli",
        model="m",
        system_prompt="You are …",
        parent="session-s0",
        at=12,
        workdir="/srv/work",
        toolsets=("files", "memory"),
        mcp=(e.McpCatalogue(server="notes", digest="ab" * 16),),
        mcp_away=("mail: it ended with exit code 3",),
        mcp_search=True,
        verify="full",
        small_window=4_096,
    ),
    e.SessionTitled(session="s1", title="A «title»"),
    e.SessionEnded(session="s1", reason="user"),
    e.SessionRested(turn="t1", at=1795440462.25),
    e.SessionUndone(session="s1", into="s2"),
    e.ModelChanged(session="s1", model="m2"),
    e.ModeChanged(session="s1", mode="plan", by="user", turn="t1"),
    e.RightsWithdrawn(session="s1", by="import"),
    e.TodosWritten(session="s1", items=(e.Todo(id="1", text="Look «there»", status="in_progress"),)),
    e.TurnSubmitted(
        turn="t1",
        text="Grüße, \x00 and 😀",
        source="telegram",
        session="s1",
        key="k1",
        if_busy="steer",
        model="m",
        toolsets=("files",),
        attended=False,
        opening=e.Opening(
            kind="scheduled",
            model="m",
            system="Be brief.",
            workdir="/srv",
            toolsets=("files",),
            title="T",
            mode="plan",
            delegation=delegation_examples.PLACE,
        ),
        deliver=("file:/srv/out.txt",),
        budget_usd=1.5,
        account="api-key-phone-2026-11",
        account_usd=20.0,
        client_data='{"previous_response_id":"resp_t0","metadata":{"ticket":"Müde?"}}',
        mode="edits",
        approve=(e.CallPattern(tool="terminal", pattern="npm test *"),),
        unattended=True,
        settings={"model.fallback": ["m2"], "budgets.turn_tokens": 100, "OPENAI_BASE_URL": "http://h/v1"},
        requires={"OPENAI_API_KEY": "0a1b2c"},
        answer_schema='{"title":"Müde?","type":"boolean"}',
        held=True,
        wants_title=True,
        skills=("release",),
        author="telegram:12",
        attachments=(PICTURE, DOCUMENT),
        outside="the trigger mail",
        unwatched=True,
    ),
    e.AnswerRejected(turn="t1", step="t1-1", faults=("$: 'ja' is not of type 'boolean'",)),
    e.ContextPrefetched(
        turn="t1",
        model="m",
        max_iterations=15,
        result_chars=1_000,
        turn_chars=2_000,
        preview_chars=30,
        memory_nudge=5,
        skill_nudge=6,
        recalled="Likes «tea».",
        listeners=("memory:notes",),
        max_refusals=3,
        note="[Plan mode.]",
        ensemble="panel",
        members=("m3", "anthropic:m4"),
        memories=(3, 7),
        recall=(e.RecalledItem("memory", "7", ("words", "entities", "meaning")),),
        recall_failed="timeout: No answer within 5 s.",
        at=1795440462.25,
        cache_ttl="1h",
        heard=(
            Heard(
                digest="ab" * 32, words="Water the tomatoes.", problem="it has no words", model="whisper-9"
            ),
        ),
        describes=True,
    ),
    e.TurnMerged(turn="t2", into="t1"),
    e.TurnLabelled(turn="t1", labels=("hard", "rechnungen"), by="user"),
    e.TurnRated(turn="t1", rating="down", by="telegram:12", note="Müde."),
    e.TurnCancelRequested(turn="t1", by="user"),
    e.PerceptionStarted(turn="t1", step="t1-prefetch", attempt=2, reserved=RESERVED),
    e.TurnPostponed(
        turn="t1",
        reason="An MCP server that is required is away: notes: no such program.",
        retry_at=1795440462.25,
        since=1795440458.25,
        number=2,
        what="MCP server notes",
    ),
    e.WaitEnded(turn="t1", by="user", model="m2"),
    e.TurnResumed(
        turn="t1",
        by="retry",
        budget_usd=2.5,
        model="m2",
        settings={"budgets.turn_tokens": None},
        requires={"model.base_url": "0a1b2c"},
        ensemble="panel",
        members=("m3", "anthropic:m4"),
    ),
    e.UsageRecorded(
        turn="t1",
        model="m",
        input_tokens=1,
        output_tokens=2,
        cache_read_tokens=3,
        cache_write_tokens=4,
        reasoning_tokens=5,
        cache_write_1h_tokens=2,
        audio_tokens=1,
        cost_usd=0.125,
        num_model_calls=6,
        num_tool_calls=7,
        estimated=USAGE,
        estimated_cost_usd=0.5,
    ),
    e.BudgetWarned(turn="t1", account="day-2026-11-21", setting="budgets.day_usd", limit=5.0, spent=4.25),
    e.TurnCompleted(turn="t1", answer="Done.", stopped_by="max_iterations"),
    e.TurnFailed(turn="t1", kind="auth", message="No key.", hint="Set one."),
    e.TurnCancelled(turn="t1", by="user"),
    e.ReferenceStarted(turn="t1", step="t1-1-r0", attempt=2, model="anthropic:m4", reserved=RESERVED),
    e.ReferenceReplied(
        turn="t1",
        step="t1-1-r0",
        content="I would say «yes».",
        model="m4",
        member="anthropic:m4",
        finish_reason="length",
        attempt=2,
        usage=USAGE,
        cost_usd=0.25,
        purpose="other",
        reasoning="It follows.",
        estimated=USAGE,
        estimated_cost_usd=0.5,
    ),
    e.ReferenceFailed(
        turn="t1",
        step="t1-1-r0",
        attempt=2,
        kind="output_limit",
        message="at most 4,096 tokens",
        member="anthropic:m4",
        alone=True,
        retry_at=1_700_000_000.5,
        usage=USAGE,
        cost_usd=0.25,
        model="m4",
        purpose="other",
        max_tokens=4_096,
        window=8_000,
        estimated=USAGE,
        estimated_cost_usd=0.5,
    ),
    e.ModelCallStarted(turn="t1", step="t1-1", attempt=2, reserved=RESERVED),
    e.ModelReplied(
        turn="t1",
        step="t1-1",
        content="I look.",
        model="m",
        finish_reason="tool_calls",
        attempt=2,
        tool_calls=(ASKED,),
        plan=(e.PlannedCall(call="t1-1-0", effect="read", after=("t1-1-1",)),),
        usage=USAGE,
        cost_usd=0.5,
        purpose="review",
        reasoning="Hm.",
        estimated=USAGE,
        estimated_cost_usd=0.25,
        payload=Payload("deepseek", "m", "api.deepseek.com", '{"reasoning_content":"Hm."}'),
        notes=("A signature was refused.",),
        failures="small: It is down.",
        stalled=True,
        warning="The server cut the prompt.",
    ),
    e.ModelCallFailed(
        turn="t1",
        step="t1-1",
        attempt=2,
        kind="rate_limit",
        message="Too many requests.",
        hint="Wait.",
        retry_at=1_800_000_000.5,
        usage=USAGE,
        cost_usd=0.25,
        model="m",
        purpose="compression",
        max_tokens=4096,
        window=8192,
        estimated=USAGE,
        estimated_cost_usd=0.125,
        quota_until=1_800_000_000.25,
        fallback="m2",
        content="Half of",
        resets_at=1_800_007_200.5,
        back_to="m0",
    ),
    e.ToolStarted(
        turn="t1",
        step="t1-1",
        call="t1-1-0",
        name="write_file",
        arguments='{"path": 1, "path": 2',
        attempt=2,
        effect="write",
        reserved=RESERVED,
    ),
    e.ToolFinished(
        turn="t1",
        call="t1-1-0",
        ok=False,
        content="Error: …",
        attempt=2,
        invalid=True,
        spilled_to="results/t1-1-0.txt",
        source="src/app.py",
        refused=True,
        rule="rm -r",
        attachments=(PICTURE,),
        outside="https://example.com/a",
    ),
    e.ToolInterrupted(turn="t1", call="t1-1-0", reason="unknown_outcome", attempt=2),
    e.FileWritten(
        turn="t1",
        call="t1-1-0",
        change=CHANGE,
        host="desk",
        added=1,
        removed=2,
        diff="--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,1 @@\n-«a»\n-b\n+c",
        protected=True,
    ),
    e.FilesDelivered(turn="t1", call="t1-1-0", attachments=(PICTURE,)),
    e.FilesRestored(turn="t1", by="user", files=(CHANGE,), host="desk", forced=True, undo=True),
    e.ApprovalRequested(
        turn="t1", call="t1-1-0", digest="ab" * 32, rule="rm -r", expires_at=1_800_000_000.25, offer=OFFER
    ),
    e.ApprovalGiven(
        turn="t1", call="t1-1-0", by="user", rule="for this session: rm -r x", scope="session", calls=OFFER
    ),
    e.ApprovalDenied(turn="t1", call="t1-1-0", by="user", reason="Use the bin."),
    e.ApprovalRuleAdded(number=3, ruling="deny", calls=OFFER, by="user"),
    e.ApprovalRuleRemoved(number=3, by="user"),
    e.ApprovalRulesProposed(numbers=(1, 3), by="import"),
    e.ApprovalRuleAccepted(number=3, by="user"),
    e.StepAbandoned(
        turn="t1",
        step="t1-1",
        worker="w-1",
        attempt=2,
        reason="shutdown",
        model="m",
        estimated=USAGE,
        estimated_cost_usd=0.25,
    ),
    e.OutcomeDiscarded(
        turn="t1",
        step="t1-1",
        worker="w-1",
        kind="ModelReplied",
        attempt=2,
        usage=USAGE,
        cost_usd=0.75,
        model="m",
        reserved=RESERVED,
    ),
    e.HelperCallStarted(step="s1-title", attempt=2, reserved=RESERVED, lost=RESERVED),
    e.HelperCallEnded(
        step="m1-1",
        attempt=2,
        model="m",
        usage=USAGE,
        cost_usd=0.5,
        estimated=USAGE,
        estimated_cost_usd=0.25,
    ),
    e.HelperCallFailed(
        step="m1-1",
        attempt=2,
        kind="overloaded",
        message="Busy.",
        model="m",
        retry_at=1_800_000_000.25,
        usage=USAGE,
        cost_usd=0.5,
        estimated=USAGE,
        estimated_cost_usd=0.25,
    ),
    e.WindowLearned(
        endpoint="https://llm.example/v1",
        model="m",
        window=8192,
        assumed=128_000,
        at=1_800_000_000.5,
        source="server",
    ),
    e.FeatureRefused(
        endpoint="https://llm.example/v1",
        model="m",
        feature="stream_options",
        message="Extra inputs are not permitted",
        at=1_800_000_000.5,
    ),
    e.WindowForgotten(endpoint="https://llm.example/v1", model="m"),
    e.TextsForgotten(
        forgetting="f1",
        cause="memory",
        by="user",
        why="It was wrong.",
        tombstones={"session-s1": (e.Tombstone(3, "ab12"),)},
        results=("t1-1-0",),
        sessions=("s1",),
        blobs=("ab" * 32,),
    ),
)


def path_of(event: e.Event) -> Path:
    encoded = CODEC.encode(event)
    return FOLDER / f"{encoded.type}.{encoded.schema}.json"


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_golden_events_are_read_and_written_unchanged(event: e.Event) -> None:
    stored = path_of(event).read_text(encoding="utf-8")
    kind, schema, _ = path_of(event).name.split(".")
    assert CODEC.decode(kind, stored, int(schema)) == event
    assert CODEC.encode(event).data == stored


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name)
def test_every_form_that_was_ever_stored_is_read_with_all_that_it_says(path: Path) -> None:
    kind, schema, *_ = path.name.split(".")
    stored = path.read_text(encoding="utf-8")
    event = CODEC.decode(kind, stored, int(schema))
    if kind in REPLACED:
        assert_is_replaced(kind, stored, event)
        return
    assert type(event).__name__ == kind
    if int(schema) == CODEC.encode(event).schema:
        assert says(json.loads(CODEC.encode(event).data), json.loads(stored))


def says(now: object, before: object) -> bool:
    """Whether a stored value says all that an older form of it said; structs in it may have grown."""
    if not isinstance(now, dict) or not isinstance(before, dict):
        return now == before
    return all(name in now and says(now[name], value) for name, value in before.items())


def assert_is_replaced(kind: str, stored: str, event: e.Event) -> None:
    """What the stored form says is in the event that took its place, also if a removal of texts has written
    that event under the old type."""
    assert type(event).__name__ != kind
    now, before = msgspec.to_builtins(event), json.loads(stored)
    assert all(value == before[name] for name, value in now.items() if name in before)
    assert CODEC.decode(kind, CODEC.encode(event).data, 1) == event


def test_every_declared_type_has_its_example() -> None:
    assert {type(event).__name__ for event in EXAMPLES} == set(EVENT_TYPES)
    assert {path_of(event) for event in EXAMPLES} <= set(FOLDER.glob("*.json")), (
        "python -m tests.eventlog.golden writes the form of a new type"
    )


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_an_example_sets_every_field_to_something_else_than_its_default(event: e.Event) -> None:
    for field in msgspec.structs.fields(event):
        assert getattr(event, field.name) != field.default, (
            f"set {field.name} in the example, then: python -m tests.eventlog.golden"
        )


def test_the_files_are_nothing_but_json() -> None:
    for path in FOLDER.iterdir():
        assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
