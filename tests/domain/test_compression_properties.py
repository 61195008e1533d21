"""The same histories with compressions at any moment: they come between two calls, and nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from hermes_jobs.errors import Rejected
from hermes_jobs.features.compression.compressor import Compressor
from hermes_jobs.features.compression.setup import CompressorOptions
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import History
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import AssistantMessage, UserMessage
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.synthetic_messages import ACKNOWLEDGED
from tests.domain.test_session_properties import AnyHistory
from tests.domain.world import World
from tests.examples import examples

WINDOW = 40  # tokens: a few of these short messages
REASONS = st.sampled_from(["manual", "manual", "threshold", "overflow"])
OUTCOMES = st.sampled_from(["done", "done", "retry", "fail", "died", "shutdown"])
ENGINE = Compressor(CompressorOptions(protect_last=0), redact=lambda text: text)


def _compression_due(machine: AnyHistory) -> Step | None:
    return next((step for step in machine.world.due if step.kind.startswith("compression.")), None)


class AnyCompressedHistory(AnyHistory):
    """Compressions are asked for by people and by the engine, and end in every way that they can."""

    def __init__(self) -> None:
        super().__init__()
        for text in ("hello", "and again"):  # so that there is something to compress
            self.accepted.append(self.world.submit(text))
            self.world.answer()

    @precondition(lambda self: self.world.session.compression is None)
    @rule(reason=REASONS)
    def compress(self, reason: e.CompressionReason) -> None:
        session = self.world.session
        if reason != "manual" and (session.current is None or session.current.running):
            return  # the engine asks only before it calls a model
        try:
            self.world.do(c.RequestCompression(reason=reason, tokens=100, window=WINDOW))
        except Rejected:
            assert not session.messages
        self._drop_stale()

    @precondition(lambda self: _compression_due(self) is not None)
    @rule()
    def carry_on(self) -> None:
        """The short way through a compression."""
        step = _compression_due(self)
        assert step is not None
        if self.under_way.pop(step.id, None) is None:
            self.world.begin(step)
        self._finish_plainly(step)
        self._drop_stale()

    def _finish(
        self, step: Step, data: st.DataObject, content: str, calls: list[tuple[str, e.Effect]]
    ) -> None:
        if not step.kind.startswith("compression."):
            super()._finish(step, data, content, calls)
            return
        outcome = data.draw(OUTCOMES)
        if outcome in {"died", "shutdown"}:
            reason: e.AbandonReason = "died" if outcome == "died" else "shutdown"
            self.world.do(c.AbandonStep(step=step.id, worker="w", reason=reason))
        elif step.kind == "compression.flush":
            self.world.do(c.FinishFlush(step=step.id, message="" if outcome == "done" else "It broke."))
        elif outcome == "done":
            self._compress(step)
        else:
            self._fail(step, retry_at=1.0 if outcome == "retry" else None)

    def _finish_plainly(self, step: Step) -> None:
        match step.kind:
            case "compression.flush":
                self.world.do(c.FinishFlush(step=step.id))
            case "compression.compress":
                self._compress(step)
            case _:
                super()._finish_plainly(step)

    def _compress(self, step: Step) -> None:
        session = self.world.session
        assert session.compression is not None
        shortened = ENGINE.set_aside(
            History(messages=session.messages, todos=(), focus="", window=WINDOW, summary_window=WINDOW)
        )
        if shortened.removed == 0:
            self._fail(step, retry_at=None)
            return
        outcome = e.ContextCompressed(
            turn=session.compression.turn,
            step=step.id,
            into=f"s1.{session.num_compressed + 2}",
            removed=shortened.removed,
            summary=shortened.summary,
            messages=shortened.messages,
            number=session.num_compressed + 1,
            tokens_before=ENGINE.estimate(session.messages),
            tokens_after=ENGINE.estimate(shortened.messages),
        )
        self.world.do(c.FinishCompression(step=step.id, outcome=outcome))
        self.world.requests.clear()  # the prompt grows anew

    def _fail(self, step: Step, *, retry_at: float | None) -> None:
        job = self.world.session.compression
        assert job is not None
        failed = e.CompressionFailed(
            turn=job.turn,
            step=step.id,
            attempt=step.attempt,
            kind="server",
            message="It broke.",
            retry_at=retry_at,
        )
        self.world.do(c.FinishCompression(step=step.id, outcome=failed))

    @invariant()
    def an_open_turn_has_due_work_and_an_idle_session_none(self) -> None:
        session = self.world.session
        assert bool(self.world.due) == (session.current is not None or session.compression is not None)

    @invariant()
    def a_compression_works_while_nobody_calls_a_model_or_a_tool(self) -> None:
        session = self.world.session
        if session.compression is not None and session.compression.running:
            turn = session.current
            assert turn is None or (not turn.running and not any(call.running for call in turn.calls))
            assert [step.kind.split(".")[0] for step in self.world.due] == ["compression"]

    @invariant()
    def each_session_of_the_lineage_goes_on_from_the_one_before(self) -> None:
        starts = [fact for fact in self.world.facts if isinstance(fact, e.SessionStarted)]
        assert [start.parent for start in starts[1:]] == [start.session for start in starts[:-1]]
        compressed = self.world.of(e.ContextCompressed)
        assert len(compressed) == len(starts) - 1 == self.world.session.num_compressed
        assert self.world.session.id == starts[-1].session


def test_every_history_with_compressions_keeps_the_rules_and_ends() -> None:
    run_state_machine_as_test(
        AnyCompressedHistory, settings=settings(max_examples=examples(80), stateful_step_count=40)
    )


def test_a_text_that_comes_while_a_compression_runs_waits_for_it() -> None:
    world = World()
    for text in ("hello", "and again"):
        world.submit(text)
        world.answer()
    world.do(c.RequestCompression(reason="manual", window=WINDOW))
    flush = world.begin()
    turn = world.submit("and now?")
    assert [step.id for step in world.due] == [flush.id]
    world.do(c.FinishFlush(step=flush.id))
    assert [step.id for step in world.due] == [f"{turn}-prefetch"]


def test_a_turn_that_is_cancelled_does_not_wait_for_a_compression_that_is_not_its_own() -> None:
    world = World()
    for text in ("hello", "and again"):
        world.submit(text)
        world.answer()
    world.do(c.RequestCompression(reason="manual", window=WINDOW))
    flush = world.begin()
    turn = world.submit("and now?")
    facts = world.do(c.CancelTurn(turn=turn, by="user"))
    assert facts[-1] == e.TurnCancelled(turn=turn, by="user")
    assert [step.id for step in world.due] == [flush.id]
    world.do(c.FinishFlush(step=flush.id))
    assert [step.kind for step in world.due] == ["compression.compress"]


def test_a_turn_counts_its_compressions_anew_with_each_answer_but_those_after_refusals_for_good() -> None:
    world = World()
    for text in ("hello", "and again"):
        world.submit(text)
        world.answer()
    world.submit("and now?")
    world.prefetch()
    reasons: tuple[e.CompressionReason, ...] = ("threshold", "overflow")
    for number, reason in enumerate(reasons, start=1):
        world.do(c.RequestCompression(reason=reason, window=WINDOW))
        world.do(c.FinishFlush(step=world.begin().id))
        world.do(c.FinishCompression(step=world.begin().id, outcome=compressed(world, number)))
    assert world.session.current is not None
    assert (world.session.current.compressions, world.session.current.overflow_compressions) == (2, 1)
    world.reply("", [("a", "read")])
    assert (world.session.current.compressions, world.session.current.overflow_compressions) == (0, 1)


def compressed(world: World, number: int) -> e.ContextCompressed:
    session = world.session
    assert session.compression is not None
    return e.ContextCompressed(
        turn=session.compression.turn,
        step=session.compression.step_id,
        into=f"s1.{number}",
        removed=1,
        summary="",
        messages=session.messages[-1:],
        number=number,
        tokens_before=9,
        tokens_after=1,
    )


def test_a_compression_that_was_asked_for_in_between_is_not_asked_for_again() -> None:
    world = World()
    world.submit("hello")
    world.answer()
    late = c.RequestCompression(reason="threshold", window=WINDOW, number=1)
    world.do(c.RequestCompression(reason="manual", window=WINDOW))
    world.do(c.FinishFlush(step=world.begin().id))
    world.do(c.FinishCompression(step=world.begin().id, outcome=compressed(world, 1)))
    assert world.do(late) == ()
    assert len(world.do(replace(late, number=2))) == 1


def test_a_note_after_the_last_answer_is_no_unanswered_request() -> None:
    world = World()
    world.submit("hello")
    world.answer()
    world.do(c.RequestCompression(reason="manual", window=WINDOW))
    world.do(c.FinishFlush(step=world.begin().id))
    said = (*world.session.messages, UserMessage("[Your own list]"))
    outcome = replace(compressed(world, 1), messages=said)
    world.do(c.FinishCompression(step=world.begin().id, outcome=outcome))
    world.submit("and now?")
    world.prefetch()
    assert world.session.messages == (*said, AssistantMessage(ACKNOWLEDGED), UserMessage("and now?"))


def test_a_compression_does_not_reopen_an_ended_session() -> None:
    world = World()
    world.submit("hello")
    world.answer()
    world.do(c.RequestCompression(reason="manual", window=WINDOW))
    step = world.begin()
    with pytest.raises(Rejected, match="is being compressed"):
        world.do(c.EndSession())
    world.do(c.FinishFlush(step=step.id))
    world.do(c.EndSession())
    assert world.session.ended_because == "user"
    assert world.due == ()
