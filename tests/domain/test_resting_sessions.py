"""A session between turns: its rests, the lifetime of its cached prompt, and the compression that waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from msgspec.structs import replace

from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.features.compression.steps.flush import Flush
from hermes_jobs.features.compression.steps.idle import MARGIN, IdleCompression
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.ports import ConfiguredModel, ContextEngines, ContextSize
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import Message
from hermes_jobs.kernel.turns.rhythm import (
    REMEMBERED,
    SECONDS,
    CacheTtl,
    cache_ttl,
    remembered,
    return_probability,
)
from hermes_jobs.kernel.turns.session import Session, running_turn
from hermes_jobs.llm.price import OwnPrices, Price
from tests.domain.world import World
from tests.engine.simulation import Gates, NoPrices, ShiftedClock, SimulatedModel, SimulatedToolbox
from tests.tools.support import Switch

MINUTES, HOURS = 60.0, 3600.0
AT = 1_795_440_000.0
PRICES = {"m": Price(5, 25, 0.5, 6.25), "small": Price(0.25, 1.25, 0.03, 0.3), "free": Price(0, 0)}


@pytest.mark.parametrize(
    ("rests", "ttl"),
    [
        ((), "5m"),
        ((4 * MINUTES,) * 5, "5m"),
        ((4 * MINUTES, 20 * MINUTES), "1h"),
        ((20 * MINUTES, 2 * HOURS), "1h"),
        ((20 * MINUTES, 2 * HOURS, 9 * HOURS), "5m"),
        ((9 * HOURS,), "5m"),
    ],
)
def test_a_prompt_is_kept_for_an_hour_where_that_would_have_been_cheaper(
    rests: Sequence[float], ttl: CacheTtl
) -> None:
    assert cache_ttl(rests) == ttl


def test_old_rests_are_forgotten() -> None:
    rests: tuple[float, ...] = (20 * MINUTES,)
    for _ in range(REMEMBERED):
        rests = remembered(rests, MINUTES)
    assert cache_ttl(rests) == "5m"


def test_nobody_is_expected_back_without_experience() -> None:
    assert return_probability((), "5m") == return_probability((4 * MINUTES,), "5m") == 0
    assert return_probability((6 * MINUTES,), "5m") == 0.5
    assert return_probability((6 * MINUTES, 9 * HOURS), "1h") == 0.5


def answered(world: World, *, rested_at: float | None, compress: c.RequestCompression | None = None) -> None:
    world.reply("Hello.")
    step = world.begin()
    world.do(c.FinishTurn(step=step.id, rested_at=rested_at, compress=compress))


@pytest.fixture
def world() -> World:
    """A session that rests since `AT`, and is compressed four minutes later if it still does."""
    made = World()
    made.submit()
    made.prefetch()
    idle = c.RequestCompression(reason="idle", tokens=50_000, window=200_000, not_before=AT + 240)
    answered(made, rested_at=AT, compress=idle)
    return made


def test_a_resting_session_is_compressed_later(world: World) -> None:
    (step,) = world.due
    assert (step.kind, step.not_before) == ("compression.flush", AT + 240)
    assert world.session.rested_at == AT


def test_the_next_text_drops_the_compression_and_is_not_delayed(world: World) -> None:
    world.submit("again")
    (step,) = world.due
    assert step.kind == "turn.prefetch"
    world.do(
        c.FinishPrefetch(
            step=step.id,
            prefetched=e.ContextPrefetched(
                turn="t2", model="m", max_iterations=5, at=AT + 100, cache_ttl="1h"
            ),
        )
    )
    assert [*world.session.rests] == [100.0]
    assert running_turn(world.session).cache_ttl == "1h"
    assert [step.kind for step in world.due] == ["turn.call_model"]


def test_a_text_waits_for_a_compression_that_has_begun(world: World) -> None:
    (step,) = world.due
    world.do(c.BeginStep(step=step.id))
    world.submit("again")
    assert [step.kind for step in world.due] == ["compression.flush"]


def test_what_a_user_asks_for_takes_the_place_of_what_waits(world: World) -> None:
    world.do(c.RequestCompression(reason="manual", focus="Rome"))
    (step,) = world.due
    assert (step.kind, step.not_before) == ("compression.flush", 0)
    assert world.session.compression is not None
    assert world.session.compression.focus == "Rome"


def test_it_is_tried_once_in_a_rest(world: World) -> None:
    (step,) = world.due
    world.do(c.BeginStep(step=step.id))
    failed = e.CompressionFailed(turn=None, step=step.id, attempt=1, kind="server", message="no")
    world.do(c.FinishCompression(step=step.id, outcome=failed))
    assert world.due == ()
    assert not world.session.compression_paused


def test_a_session_with_a_waiting_text_does_not_rest() -> None:
    world = World()
    world.submit()
    world.prefetch()
    world.submit("next")
    answered(world, rested_at=AT)
    assert world.session.rested_at == 0


# --- the decision -------------------------------------------------------------------------------


class Sized(CompressionPolicy, frozen=True, eq=False):
    """A request of that size, of which enough can be compressed."""

    tokens: int = 0

    def size(self, session: Session, turn: object) -> ContextSize:
        return ContextSize(
            window=200_000,
            tokens=self.tokens,
            num_messages=40,
            is_measured=True,
            first_call=False,
            num_compressions=0,
            fixed=10_000,
        )

    def is_worthwhile(self, session: Session) -> bool:
        return True


class NoEngine:
    def estimate(self, messages: Sequence[Message]) -> int:
        return 0


def decided(
    tokens: int, summariser: str, *rests: float, ttl: CacheTtl | None = "5m", least: int | None = 30_000
) -> c.FinishTurn:
    world = World()
    world.submit()
    world.prefetch()
    world.reply("Hello.")
    session = replace(world.session, rests=rests, prompt_tokens=tokens)
    contexts = cast(ContextEngines, NoEngine())
    sizing = Sized(contexts, SimulatedToolbox(Gates()), lambda session, model: 200_000, tokens=tokens)
    prices, model = OwnPrices(PRICES, NoPrices()), SimulatedModel(Gates(), [])
    helper = Helper(model=model, name=summariser, window_of=lambda: 200_000, pricing=prices)
    idle = IdleCompression(
        sizing=sizing,
        helpers=lambda session: (helper,),
        flush=ConfiguredModel(model=model, pricing=prices),
        pricing=prices,
        ttl_of=lambda model: ttl,
        clock=ShiftedClock(lambda: AT),
        least=least,
        stays=0.1,
        always_rests=False,
    )
    (step,) = world.due
    return idle.finish(session, step)


def test_a_long_session_whose_user_comes_back_late_is_compressed_by_a_cheap_model() -> None:
    finish = decided(120_000, "small", 20 * MINUTES)
    assert finish.rested_at == AT
    assert finish.compress is not None
    assert finish.compress.not_before == AT + SECONDS["5m"] - MARGIN


@pytest.mark.parametrize(
    "finish",
    [
        pytest.param(decided(120_000, "small"), id="nobody has come back late"),
        pytest.param(decided(120_000, "m", 20 * MINUTES), id="the summary costs as much as it saves"),
        pytest.param(decided(120_000, "unpriced", 20 * MINUTES), id="a price is unknown"),
        pytest.param(decided(31_000, "small", 20 * MINUTES), id="little would be left out"),
    ],
)
def test_otherwise_only_the_rest_is_recorded(finish: c.FinishTurn) -> None:
    assert finish.rested_at is not None
    assert finish.compress is None


@pytest.mark.parametrize(
    "finish",
    [
        pytest.param(decided(29_000, "small", 20 * MINUTES), id="short"),
        pytest.param(decided(120_000, "small", 20 * MINUTES, ttl=None), id="no cache"),
        pytest.param(decided(120_000, "small", 20 * MINUTES, least=None), id="off"),
    ],
)
def test_nothing_is_recorded_where_nothing_depends_on_it(finish: c.FinishTurn) -> None:
    assert finish.rested_at is None


def test_one_that_comes_after_the_end_of_the_cache_costs_nothing(world: World) -> None:
    (step,) = world.due
    world.do(c.BeginStep(step=step.id))
    flush = Flush(
        SimulatedModel(Gates(), []),
        SimulatedToolbox(Gates()),
        NoPrices(),
        cast(CompressionPolicy, None),
        lambda model: 1_000,
        ShiftedClock(lambda: AT + SECONDS["5m"] + 1),
    )
    outcome = flush.run(world.session, step, Switch())
    assert isinstance(outcome, c.FinishCompression)
    assert isinstance(outcome.outcome, e.CompressionFailed)
    assert outcome.outcome.kind == "late"
