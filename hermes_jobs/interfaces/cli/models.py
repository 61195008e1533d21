"""`hermes-jobs models`: what an endpoint offers, and what is known of models."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.models_list import list_models
from hermes_jobs.interfaces.cli.options import example, json_option
from hermes_jobs.interfaces.cli.output import note, print_json
from hermes_jobs.interfaces.cli.param_types import NonEmpty


@click.group(epilog=example("hermes-jobs models list"), invoke_without_command=True)
@click.pass_context
def models(context: click.Context) -> None:
    """Which models there are, and what is known of them; alone it lists them."""
    if context.invoked_subcommand is None:
        context.invoke(list_models, part=None, limit=None, as_json=False)


models.add_command(list_models)


@models.command(
    "forget-limits",
    epilog=example("hermes-jobs models forget-limits", "hermes-jobs models forget-limits qwen3"),
)
@click.argument("name", type=NonEmpty(), required=False)
@json_option
@pass_context
def forget_limits(context: CliContext, name: str | None, as_json: bool) -> None:
    """Forget the windows that refusals of providers taught.

    NAME is one model, at whichever endpoint; without it all are meant. What the provider says next time is
    learned again. `model.context_length` sets a window that no refusal of another day changes; `doctor` says
    where the window in use comes from.
    """
    from hermes_jobs.domain import context_windows
    from hermes_jobs.domain.context_windows import LearnedWindows

    engine = context.application.engine()
    known = engine.state(context_windows.STREAM)
    assert isinstance(known, LearnedWindows)
    forgotten = [(place, learned) for place, learned in known.windows.items() if name in {None, place[1]}]
    engine.change(context_windows.forget(name), "cli")
    if as_json:
        rows = [
            {"endpoint": endpoint, "model": model, "window": learned.window}
            for (endpoint, model), learned in forgotten
        ]
        print_json({"forgotten": rows})
        return
    for (endpoint, model), learned in forgotten:
        note(f"Forgotten: {model} at {endpoint} takes {learned.window:,} tokens.")
    if not forgotten:
        which = f"the model {name}" if name else "any model"
        others = ", ".join(sorted({model for _, model in known.windows}))
        note(f"No limit was learned of {which}." + (f" There are limits of: {others}." if others else ""))
