"""What follows from the end of a turn for the session's cached prompt: how long it rests is recorded, and it
is compressed shortly before the cache ends, if that is likely to save money (ADR 154)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hermes_jobs.features.compression.steps.compression_policy import CompressionPolicy
from hermes_jobs.kernel.engine.budget_guard import FLUSH_ANSWER
from hermes_jobs.kernel.engine.handlers.auxiliary_models import Helper
from hermes_jobs.kernel.engine.ports import ConfiguredModel, ContextSize, Pricing
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.rhythm import SECONDS, CacheTtl, return_probability
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import Step
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock

MARGIN = 60.0
"""Seconds before the end of the cache at which the compression begins; it is not worth it after that."""
SUMMARY = 4_000
"""The usual tokens of a summary."""


class IdleCompression(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`ttl_of(model)` is how long its endpoint keeps prompts, None if it does not; `helpers(session)` are the
    models that can summarise, the preferred one first. Sessions with less than `least` tokens are left as
    they are. `stays`: the share of the window that a compression leaves. `always_rests`: rests are recorded
    for the lifetime of the cache, too.
    """

    sizing: CompressionPolicy
    helpers: Callable[[Session], Sequence[Helper]]
    flush: ConfiguredModel
    pricing: Pricing
    ttl_of: Callable[[str], CacheTtl | None]
    clock: Clock
    least: int | None
    stays: float
    always_rests: bool

    def finish(self, session: Session, step: Step) -> c.FinishTurn:
        """The command that ends the turn, with what follows from it."""
        turn, kind = session.current, session.started.kind if session.started else None
        assert turn is not None, f"{step.id} ends no turn"
        model = turn.model or session.model or ""
        ttl = self.ttl_of(model) if kind == "conversation" else None
        is_long = self.least is not None and session.prompt_tokens >= self.least
        if ttl is None or not (is_long or self.always_rests):
            return c.FinishTurn(step=step.id)
        now = self.clock.now()
        ttl = turn.cache_ttl or ttl
        request = self._request(session, turn, model, ttl, now) if is_long else None
        return c.FinishTurn(step=step.id, rested_at=now, compress=request)

    def _request(
        self, session: Session, turn: Turn, model: str, ttl: CacheTtl, now: float
    ) -> c.RequestCompression | None:
        size, probability = self.sizing.size(session, turn), return_probability(session.rests, ttl)
        if not probability or not self.sizing.is_worthwhile(session):
            return None
        if not self._saves_money(session, model, size, ttl, probability):
            return None
        not_before = now + SECONDS[ttl] - MARGIN
        return c.RequestCompression(
            reason="idle", tokens=size.tokens, window=size.window, not_before=not_before
        )

    def _saves_money(
        self, session: Session, model: str, size: ContextSize, ttl: CacheTtl, probability: float
    ) -> bool:
        """Whether what the next turn is likely to save is more than what flush and summary cost."""

        def written(tokens: int) -> float | None:
            lasting = {"cache_write_1h_tokens": tokens} if ttl == "1h" else {}
            return self.pricing.cost_usd(model, Usage(cache_write_tokens=tokens, **lasting))

        after = min(size.tokens, size.fixed + SUMMARY + int(size.window * self.stays))
        helper, name = self.helpers(session)[0], self.flush.name
        sent = Usage(cache_read_tokens=size.tokens) if name is None else Usage(size.tokens)
        costs = (
            written(size.tokens),
            written(after),
            helper.pricing.cost_usd(helper.name, Usage(size.tokens - size.fixed, SUMMARY)),
            self.flush.pricing.cost_usd(
                name or model, msgspec.structs.replace(sent, output_tokens=FLUSH_ANSWER)
            ),
        )
        known = [cost for cost in costs if cost is not None]
        if len(known) < len(costs):
            return False
        whole, shorter, summary, flush = known
        return probability * (whole - shorter) > summary + flush
