"""`hermes-jobs completion`: the script that makes a shell complete commands, flags and ids.

bash splits words with colons, such as addresses, and completes a part: `BashWords` joins them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.options import example

VARIABLE = "_HERMES_JOBS_COMPLETE"  # click derives it from the program's name


@command(
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


class BashWords(BashComplete):
    """click's completion for bash, with words as they were typed."""

    _typed = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is completed, and that one."""
        before, incomplete = super().get_completion_args()
        *args, text = joined([*before, incomplete])
        if text != incomplete:
            self._typed = text[: text.rfind(":") + 1]
        return args, text

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """The replacement of the part that bash completes."""
        return f"{item.type},{str(item.value).removeprefix(self._typed)}"


def joined(words: Sequence[str]) -> list[str]:
    """The words without the splits at colons: `a`, `:`, `b` is one."""
    merged: list[str] = []
    for word, before in zip(words, ("", *words), strict=False):
        if merged and (_is_split(word) or _is_split(before)):
            merged[-1] += word
        else:
            merged.append(word)
    return merged


def _is_split(word: str) -> bool:
    return set(word) == {":"}


def use_bash_words() -> None:
    """Register the completion in click."""
    add_completion_class(BashWords)
