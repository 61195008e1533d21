"""Budgets: the reservation for a model call, and the limits that apply to it.

A call is claimed with a reservation and the limits that apply. If the log rejects the reservation because it
exceeds a limit, the guard reduces it: the answer will be shorter. If even the shortest answer would exceed a
limit, the turn fails. If only reservations of running calls are in the way, the call waits for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import tzinfo
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hermes_jobs.errors import OutOfBudget, Rejected
from hermes_jobs.kernel.engine.ports import ModelRequest, Pricing, SpendingApproval
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.kernel.streams.accounts import NANO, Amount, Limit, OverBudget, usd_limits
from hermes_jobs.kernel.streams.budgets import (
    ACCOUNT_BUDGET,
    DAY,
    OWN_BUDGET,
    WARNING_SCOPE,
    Budgets,
    billed,
    limits_of,
    warning_key,
    warnings,
)
from hermes_jobs.kernel.streams.budgets import reserved as amount_reserved
from hermes_jobs.kernel.streams.usage import Reservation, Usage
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.messages import ToolCall
from hermes_jobs.kernel.turns.references import Reference
from hermes_jobs.kernel.turns.session import Session
from hermes_jobs.kernel.turns.steps import StepKind
from hermes_jobs.kernel.turns.stops import BUDGET
from hermes_jobs.kernel.turns.turn import Turn
from hermes_jobs.system.clock import Clock
from hermes_jobs.text.figures import money
from hermes_jobs.text.moments import day_end, day_of

USUAL_ANSWER = 8192
"""Tokens reserved for an answer whose length is not limited."""
SHORTEST_ANSWER = 256
"""The shortest answer that is requested, in tokens."""

FLUSH_ANSWER = 2_000
SUMMARY_ANSWER = 12_000
"""Tokens reserved for the answer of a flush, and for a summary."""


Finished = TypeVar("Finished", bound=c.FinishModelCall | c.FinishReference)


class Asking(msgspec.Struct, frozen=True):
    """The model calls of a tool, as maximum numbers of tokens. `limited`: they are refused if a budget is
    used up."""

    model: str
    pricing: Pricing
    input_tokens: int
    output_tokens: int
    limited: bool = False


class BudgetGuard:
    """Reserves the cost of model calls. `zone` is the time zone of days; None for that of the machine.

    `request` gives a turn's next request, `reference` that to a member of its ensemble, `estimate` the
    approximate number of tokens of one. `summariser` gives the name and the prices of the model that
    summarises, `flusher` those of the one that flushes (None: the session's own); without a summariser,
    compressions reserve nothing. `reviews` are the prices of the model of reviews. `asking(call)` are the
    model calls of a tool call, None for none: their cost is reserved, so that it is recorded if the worker
    dies, and they are refused only if they are `limited`. `perceiving` are those that perceive the sounds and
    pictures of a turn that has not begun. `of_turn` are the settings that the turn itself
    carries.
    """

    def __init__(  # noqa: PLR0913 - the ports it needs
        self,
        *,
        request: Callable[[Session, Turn], ModelRequest],
        reference: Callable[[Session, Turn, Reference], ModelRequest] | None = None,
        estimate: Callable[[ModelRequest], int],
        pricing: Pricing,
        budgets: Budgets,
        clock: Clock,
        zone: tzinfo | None = None,
        summariser: Callable[[], tuple[str, Pricing]] | None = None,
        flusher: tuple[str, Pricing] | None = None,
        reviews: Pricing | None = None,
        asking: Callable[[ToolCall], Asking | None] | None = None,
        perceiving: Callable[[Session, Turn], Sequence[Asking]] | None = None,
        of_turn: Collection[str] = (),
    ) -> None:
        self._request = request
        self._reference = reference
        self._estimate = estimate
        self._pricing = pricing
        self._budgets = budgets
        self._clock = clock
        self._zone = zone
        self._summariser = summariser
        self._flusher = flusher
        self._reviews = reviews or pricing
        self._asking = asking
        self._perceiving = perceiving
        self._of_turn = of_turn

    def today(self) -> str:
        """The day to which usage is charged now, as YYYY-MM-DD."""
        return day_of(self._clock.now(), self._zone)

    def approve(self, session: Session, act: StepKind | None, step: str = "") -> SpendingApproval | None:
        """The approval for the due step; None if the step calls no model.

        Raises `Rejected` where a limit in money meets an unknown price.
        """
        turn = session.current
        if act == "turn.call_model" and turn is not None:
            pricing = self._reviews if session.is_review else self._pricing
            return self._call(session, turn, self._request(session, turn), pricing)
        member = turn.reference(step) if act == "turn.reference" and turn is not None else None
        if member is not None and turn is not None and self._reference is not None:
            return self._call(session, turn, self._reference(session, turn, member), self._pricing)
        call = turn.call(step) if act == "turn.run_tool" and turn is not None else None
        asking = self._asking(call.request) if call is not None and self._asking is not None else None
        if asking is not None:
            sent = Reservation(
                model=asking.model, input_tokens=asking.input_tokens, output_tokens=0, day=self.today()
            )
            reservation = _with_answer(sent, asking.output_tokens, asking.pricing)
            limits = limits_of(self._budgets, session, turn, self.today()) if asking.limited else ()
            if reservation.cost_usd is None and self._budgets.turn_tokens is None:
                _refuse_unpriced(limits, asking.model)
            return SpendingApproval(
                reservation=reservation, limits=limits, pricing=asking.pricing, fixed=True
            )
        if act == "turn.prefetch" and turn is not None and self._perceiving is not None:
            return self._perception(session, turn, self._perceiving(session, turn))
        if act not in {"compression.flush", "compression.compress"} or self._summariser is None:
            return None
        (name, pricing), answer = self._flusher or (session.model or "", self._pricing), FLUSH_ANSWER
        if act == "compression.compress":
            (name, pricing), answer = self._summariser(), SUMMARY_ANSWER
        history = ModelRequest(model=name, system_prompt="", messages=session.messages, max_tokens=answer)
        return replace(self._terms(session, turn, history, pricing), fixed=True)

    def _perception(self, session: Session, turn: Turn, asked: Sequence[Asking]) -> SpendingApproval | None:
        """The approval for all of these calls together; what an unknown price adds is not reserved."""
        if not asked:
            return None
        costs = [
            each.pricing.cost_usd(each.model, Usage(each.input_tokens, each.output_tokens)) for each in asked
        ]
        reservation = Reservation(
            model=asked[-1].model,
            input_tokens=sum(each.input_tokens for each in asked),
            output_tokens=sum(each.output_tokens for each in asked),
            day=self.today(),
            cost_usd=sum(cost for cost in costs if cost is not None),
        )
        limits = limits_of(self._budgets, session, turn, self.today())
        return SpendingApproval(reservation=reservation, limits=limits, pricing=asked[-1].pricing, fixed=True)

    def _call(
        self, session: Session, turn: Turn, request: ModelRequest, pricing: Pricing
    ) -> SpendingApproval:
        terms = self._terms(session, turn, request, pricing)
        # Without a limit, the answer is not shortened.
        max_tokens = terms.reservation.max_tokens if terms.limits else request.max_tokens
        return replace(terms, reservation=replace(terms.reservation, max_tokens=max_tokens))

    def _terms(
        self, session: Session, turn: Turn | None, request: ModelRequest, pricing: Pricing
    ) -> SpendingApproval:
        limits = limits_of(self._budgets, session, turn, self.today())
        terms = self._reserve(request, limits, pricing)
        if terms.reservation.cost_usd is None and self._budgets.turn_tokens is None:
            _refuse_unpriced(limits, request.model)
        return terms

    def approve_title(self, session: Session, request: ModelRequest, pricing: Pricing) -> SpendingApproval:
        """The approval for a title, which no turn is charged for. Raises `Rejected` as `approve` does."""
        return replace(self._terms(session, None, request, pricing), fixed=True)

    def approve_within(
        self, limits_of: Callable[[Budgets, str], tuple[Limit, ...]], request: ModelRequest
    ) -> SpendingApproval:
        """The approval for a call under other limits, which follow from the budgets and the day's account.
        Raises `Rejected` as `approve` does."""
        limits = limits_of(self._budgets, DAY + self.today())
        terms = self._reserve(request, limits, self._pricing)
        if terms.reservation.cost_usd is None and all(limit.tokens is None for limit in limits):
            _refuse_unpriced(limits, request.model)
        return terms

    def approve_embedding(
        self, model: str, sent: int, cost_usd: Callable[[Usage], float | None]
    ) -> SpendingApproval:
        """The approval for embedding texts of `sent` tokens. Raises `Rejected` as `approve` does."""
        day = self.today()
        reservation = Reservation(
            model=model, input_tokens=sent, output_tokens=0, day=day, cost_usd=cost_usd(Usage(sent))
        )
        limits = usd_limits((DAY + day, "budgets.day_usd", self._budgets.day_usd))
        if reservation.cost_usd is None:
            _refuse_unpriced(limits, model)
        return SpendingApproval(reservation=reservation, limits=limits, pricing=self._pricing, fixed=True)

    def approve_consolidation(self, request: ModelRequest, pricing: Pricing) -> SpendingApproval:
        """The approval for a model call that reads a part of a conversation. Raises `Rejected` as `approve`
        does."""
        limits = usd_limits((DAY + self.today(), "budgets.day_usd", self._budgets.day_usd))
        terms = self._reserve(request, limits, pricing)
        if terms.reservation.cost_usd is None:
            _refuse_unpriced(limits, request.model)
        return replace(terms, fixed=True)

    def _reserve(
        self, request: ModelRequest, limits: tuple[Limit, ...], pricing: Pricing
    ) -> SpendingApproval:
        day = self.today()
        sent = Reservation(
            model=request.model, input_tokens=self._estimate(request), output_tokens=0, day=day
        )
        reservation = _with_answer(sent, request.max_tokens or USUAL_ANSWER, pricing)
        return SpendingApproval(reservation=reservation, limits=limits, pricing=pricing)

    def warned(self, session: Session, command: Finished, log: EventLog) -> Finished:
        """The command with one warning for each limit that is nearly used up after this call."""
        turn, outcome = session.current, command.outcome
        if turn is None:
            return command
        limits = limits_of(self._budgets, session, turn, self.today())
        used = billed(session, outcome)
        due_warnings = warnings(session, turn.id, limits, lambda account: log.account(account).spent + used)
        fresh = (warning for warning in due_warnings if not log.key(WARNING_SCOPE, warning_key(warning).key))
        changed: Finished = replace(command, warnings=tuple(fresh))
        return changed

    def reduce(self, terms: SpendingApproval, over: OverBudget) -> SpendingApproval | None:
        """A smaller approval that fits the limit once other calls have ended; None if this one already does:
        wait for them. Raises `Rejected` if no answer fits.
        """
        reservation = terms.reservation
        if over.limit.allows(over.spent + amount_reserved(reservation)):
            return None
        if terms.fixed:
            raise self._exhausted(over, amount_reserved(reservation))
        answer = min(_affordable(terms, over.limit, over.spent), reservation.output_tokens - 1)
        if answer < SHORTEST_ANSWER:
            least = _with_answer(reservation, min(SHORTEST_ANSWER, reservation.output_tokens), terms.pricing)
            raise self._exhausted(over, amount_reserved(least))
        return replace(terms, reservation=_with_answer(reservation, answer, terms.pricing))

    def _exhausted(self, over: OverBudget, needed: Amount) -> OutOfBudget:
        is_of_day = over.limit.account.startswith(DAY)
        until = day_end(self._clock.now(), self._zone) if is_of_day else None
        return _exhausted(over, needed, self._of_turn, until)


def _with_answer(reservation: Reservation, tokens: int, pricing: Pricing) -> Reservation:
    cost = pricing.cost_usd(reservation.model, Usage(reservation.input_tokens, tokens))
    return replace(reservation, output_tokens=tokens, max_tokens=tokens, cost_usd=cost)


def _affordable(terms: SpendingApproval, limit: Limit, spent: Amount) -> int:
    """The longest answer that fits the limit, in tokens, approximately."""
    reservation = terms.reservation
    if limit.tokens is not None:
        return limit.tokens - spent.tokens - reservation.input_tokens
    assert limit.nano_usd is not None, f"{limit.setting} limits nothing"
    sent = terms.pricing.cost_usd(reservation.model, Usage(reservation.input_tokens))
    if sent is None or reservation.cost_usd is None:
        return 0
    available_usd = (limit.nano_usd - spent.nano_usd) / NANO
    token = (reservation.cost_usd - sent) / reservation.output_tokens
    return int((available_usd - sent) / token) if token > 0 else 0


def _refuse_unpriced(limits: tuple[Limit, ...], model: str) -> None:
    """Raise `Rejected` for a limit in money where the price is not known."""
    money = next((limit for limit in limits if limit.nano_usd is not None), None)
    if money is not None:
        raise Rejected(
            f"The price of {model!r} is not known, so {money.setting} (${money.value:g}) cannot be held.",
            kind=BUDGET,
            hint="Set budgets.turn_tokens beside it, which then holds for such models: "
            "hermes-jobs config set budgets.turn_tokens 200000",
        )


def _exhausted(
    over: OverBudget, needed: Amount, of_turn: Collection[str], until: float | None
) -> OutOfBudget:
    limit = over.limit
    hint = f"Raise {limit.setting}, then continue with `hermes-jobs turns continue`."
    if limit.setting == OWN_BUDGET:
        hint = "Give it more: `hermes-jobs turns continue ID --budget USD`."
    elif limit.setting == ACCOUNT_BUDGET:
        hint = "The next month has a new one; or send it with another key: `hermes-jobs keys list`."
    elif limit.setting in of_turn:
        variable = f"HERMES_JOBS_{limit.setting.replace('.', '__').upper()}"
        hint = (
            f"The turn was sent with that limit. Give it another: {variable}=… hermes-jobs turns continue ID"
        )
    if limit.tokens is not None:
        allowed, spent, needs = f"{limit.tokens:,} tokens", f"{over.spent.tokens:,}", f"{needed.tokens:,}"
    else:
        allowed = f"${limit.value:g}" if limit.value >= 0.0001 else money(limit.value)
        spent, needs = _dollars(over.spent), _dollars(needed)
    return OutOfBudget(
        f"The budget is used up: {limit.setting} allows {allowed}; {spent} spent so far, "
        f"and the next model call needs at least {needs}.",
        kind=BUDGET,
        hint=hint,
        until=until,
    )


def _dollars(amount: Amount) -> str:
    return money(amount.nano_usd / NANO)
