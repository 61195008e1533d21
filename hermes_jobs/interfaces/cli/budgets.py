"""`--budget USD` of turns that start later: the amount, and whether it can be enforced."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext


def check_price(context: CliContext, model: str | None, budget_usd: float | None) -> None:
    """Raise a usage error for a budget in money without a known price."""
    settings = context.settings
    if budget_usd is None or settings.budgets.turn_tokens is not None:
        return
    from hermes_jobs.kernel.streams.usage import Usage

    name = model or settings.model_name
    prices = context.application.endpoints.by_name
    if prices.cost_usd(name, Usage(1)) is None:
        raise click.BadParameter(
            f"the price of {name!r} is not known: a limit in money alone cannot be enforced. Also set one in "
            "tokens: hermes-jobs config set budgets.turn_tokens 200000",
            param_hint="--budget",
        )


def dollars(text: str) -> float:
    """An amount of US dollars, more than 0. Raises a usage error."""
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = 0.0
    if not 0 < amount < float("inf"):
        raise click.BadParameter(
            f"{text!r} is not an amount of US dollars, such as 0.50.", param_hint="--budget"
        )
    return amount
