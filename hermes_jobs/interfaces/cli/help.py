"""`hermes-jobs help`: the commands, one command, or a further topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_jobs.interfaces.cli.help_topics import TOPICS, Bullets, Rows, Topic
from hermes_jobs.interfaces.cli.options import example

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _complete(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    from click.shell_completion import CompletionItem

    root = context.find_root().command
    assert isinstance(root, click.Group)
    names = [*root.list_commands(context.find_root()), *TOPICS]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command("help", epilog=example("hermes-jobs help turns show", "hermes-jobs help exit-codes"))
@click.argument("words", metavar="[COMMAND|TOPIC]", nargs=-1, shell_complete=_complete)
@click.pass_context
def help_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command or a topic.

    Topics: exit-codes, environment, files, json.
    """
    topic = TOPICS.get(words[0]) if len(words) == 1 else None
    if topic is not None:
        click.echo(told(topic, context.make_formatter()), nl=False)
        return
    root = context.find_root()
    found = click.Context(root.command, info_name=root.info_name, **_settings(root))
    for word in words:
        found = _below(found, word)
    click.echo(found.get_help())


def _below(parent: click.Context, word: str) -> click.Context:
    """The command of that name below the parent. Raises a usage error with similar names."""
    group = parent.command
    if not isinstance(group, click.Group):
        raise click.UsageError(f"{parent.command_path!r} has no commands of its own.")
    command = group.get_command(parent, word)
    if command is not None:
        return click.Context(command, info_name=word, parent=parent, **_settings(parent))
    from difflib import get_close_matches

    known = [*group.list_commands(parent), *(TOPICS if parent.parent is None else ())]
    near = get_close_matches(word.lower(), known, n=2)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    raise click.UsageError(f"There is no command or topic {word!r}.{meant}\nTopics: {', '.join(TOPICS)}.")


def _settings(context: click.Context) -> dict[str, Any]:
    return {
        "help_option_names": context.help_option_names,
        "max_content_width": context.max_content_width,
        "color": context.color,
    }


def told(topic: Topic, formatter: click.HelpFormatter) -> str:
    """The topic as text for a terminal."""
    for at, block in enumerate(topic.blocks):
        if at:
            formatter.write_paragraph()
        match block:
            case Rows():
                with formatter.indentation():
                    formatter.write_dl(block.rows)
            case Bullets():
                with formatter.indentation():
                    formatter.write_dl([("-", item) for item in block.items], col_spacing=1)
            case _:
                formatter.write_text(block)
    return formatter.getvalue()
