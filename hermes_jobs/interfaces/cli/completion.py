"""`hermes-jobs completion`: the script that makes a shell complete commands, flags and ids."""

from __future__ import annotations

import click

from hermes_jobs.interfaces.cli.options import example

VARIABLE = "_HERMES_JOBS_COMPLETE"  # click derives it from the program's name


@click.command(
    epilog=example(
        'eval "$(hermes-jobs completion bash)"    # in ~/.bashrc',
        'eval "$(hermes-jobs completion zsh)"     # in ~/.zshrc',
        "hermes-jobs completion fish | source     # in ~/.config/fish/config.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for SHELL: commands, flags, and ids of recent turns and sessions."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None, f"click knows no {shell}"
    program = context.find_root()
    click.echo(complete(program.command, {}, program.info_name or "hermes-jobs", VARIABLE).source())
