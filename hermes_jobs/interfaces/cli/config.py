"""`hermes-jobs config`: what is set, where it comes from, and changing `config.yaml`."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.context import CliContext, pass_context
from hermes_jobs.interfaces.cli.options import example, json_option, limit_option
from hermes_jobs.interfaces.cli.output import note, print_json, print_table
from hermes_jobs.interfaces.cli.param_types import TextParam


@click.group(epilog=example("hermes-jobs config show --origin"))
def config() -> None:
    """Show and change the configuration."""


@config.command("show", epilog=example("hermes-jobs config show --origin --json"))
@click.option("--origin", is_flag=True, help="Where each value comes from.")
@limit_option("keys", default=None)
@json_option
@pass_context
def show(context: CliContext, origin: bool, limit: int | None, as_json: bool) -> None:
    """Show every key with its value, without secrets."""
    from hermes_jobs.settings import render

    shown = render(context.settings)[:limit]
    if as_json and origin:
        print_json({each.key: {"value": each.value, "origin": each.origin} for each in shown})
    elif as_json:
        print_json({each.key: each.value for each in shown})
    elif origin:
        rows = [(each.key, each.origin, _text(each.value)) for each in shown]
        print_table(("KEY", "ORIGIN", "VALUE"), rows)
    else:
        print_table(("KEY", "VALUE"), [(each.key, _text(each.value)) for each in shown])


@config.command("path", epilog=example('cat "$(hermes-jobs config path)"'))
@json_option
@pass_context
def path(context: CliContext, as_json: bool) -> None:
    """Print where `config.yaml` is, or would be."""
    from hermes_jobs.settings import Paths, find_home

    file = str(Paths(find_home(context.environ)).config)
    if as_json:
        print_json(file)
    else:
        click.echo(file)


@config.command("set", epilog=example("hermes-jobs config set compression.threshold 0.4"))
@click.argument("key")
@click.argument("value", type=TextParam())
@pass_context
def change(context: CliContext, key: str, value: str) -> None:
    """Write one key into `config.yaml`.

    Everything else in it stays as it is.

    VALUE is read as YAML, so `null`, `true`, numbers and lists are what they look like.
    """
    from hermes_jobs.settings import find_home, set_value

    set_value(find_home(context.environ), key, value)
    note(f"{key} is set. Processes that run already keep what they read when they began.")


def _text(value: object) -> str:
    import msgspec

    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
