"""Options that commands share are types of their functions' parameters."""

from __future__ import annotations

import click
from click.testing import CliRunner

from hermes_jobs.interfaces.cli.command import command, group, shared_option
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, Name, Quiet, option_group


@group()
def things() -> None:
    """Things."""


@things.command("show")
@click.argument("part")
@click.option("--all", "everything", is_flag=True)
def show(context: CliContext, thing: Name, part: str, everything: bool, as_json: Json) -> None:
    """Show a part of a thing."""
    click.echo(f"{context.environ['HOME']} {thing} {part} {everything} {as_json}")


@command()
@option_group("both", lambda **both: both, shared_option(Quiet, "silent"), shared_option(Json, "as_json"))
def list_things(context: CliContext, both: dict[str, bool]) -> None:
    """List things."""
    click.echo(f"{context.debug} {sorted(both.items())}")


def output_of(called: click.Command, *arguments: str) -> str:
    ran = CliRunner().invoke(called, arguments, obj=CliContext({"HOME": "here"}), catch_exceptions=False)
    return ran.output.strip()


def test_a_parameter_of_such_a_type_is_an_option_of_any_name() -> None:
    assert output_of(things, "show", "tea", "pot", "--json") == "here tea pot False True"


def test_arguments_come_before_those_of_decorators_and_options_after_them() -> None:
    assert [parameter.name for parameter in things.commands["show"].params] == [
        *("thing", "part", "everything", "as_json"),
    ]


def test_a_group_of_options_has_them_in_its_own_order() -> None:
    assert output_of(list_things, "-q") == "False [('as_json', False), ('silent', True)]"
    assert [parameter.name for parameter in list_things.params] == ["silent", "as_json"]
