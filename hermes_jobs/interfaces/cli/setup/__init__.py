"""`hermes-jobs setup`: configures a provider, its key and a model after a test, and web search."""

from __future__ import annotations

import sys

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import example, model_option
from hermes_jobs.interfaces.cli.param_types import NonEmpty


@command(
    epilog=example(
        "hermes-jobs setup",
        "hermes-jobs setup --provider ollama --model qwen3",
        "hermes-jobs setup --provider custom --base-url http://127.0.0.1:18080/v1 --model smollm2",
        "hermes-jobs setup --search searxng --search-url http://127.0.0.1:8888",
    )
)
@click.option("--provider", metavar="NAME", type=NonEmpty(), help="Provider: openai, anthropic, ollama, …")
@model_option("Model to use.")
@click.option(
    "--base-url", metavar="URL", type=NonEmpty(), help="URL of the API, if not the provider's usual one."
)
@click.option(
    "--search",
    metavar="NAME",
    type=NonEmpty(),
    help="Web search: searxng, brave, tavily, exa, duckduckgo or none. On its own, sets up only that.",
)
@click.option("--search-url", metavar="URL", type=NonEmpty(), help="URL of the SearXNG instance.")
def setup(
    context: CliContext,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    search: str | None,
    search_url: str | None,
) -> None:
    """Connect a language model: choose a provider, enter its key, choose a model and test it.
    It also sets up a web search provider, if you want one.

    Values that no flag gives are asked for. Keys in the environment and servers on this machine are detected.
    A key is not echoed; it is saved in `.env` in the home (mode 600), everything else in `config.yaml`.
    Nothing is saved if the model's test call or the test search fails.

    Without a terminal nothing is asked: pass --provider, and set its key in the environment or in `.env`.
    """
    from hermes_jobs.interfaces.cli.setup.choice import print_next_steps
    from hermes_jobs.interfaces.cli.setup.questions import Questions
    from hermes_jobs.interfaces.cli.setup.steps import ModelDialog
    from hermes_jobs.kernel.feature import parts

    questions = Questions(can_ask=sys.stdin.isatty() and sys.stdout.isatty())
    if search_url is not None and search is None:
        raise click.UsageError("--search-url requires --search.")
    has_options = (provider, model, base_url) != (None, None, None)
    chosen_setup = (
        ModelDialog(context, questions).run(provider, model, base_url)
        if has_options or search is None
        else None
    )
    if search is not None or (questions.can_ask and not has_options):
        searches = parts("setup")
        if search is not None and not searches:
            raise click.UsageError("This installation has no web search.")
        for search_setup in searches:
            search_setup(context, questions).run(search, search_url)
    if chosen_setup is not None:
        print_next_steps(context, chosen_setup, questions.print_line)
