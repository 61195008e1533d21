"""`hermes-jobs help`: the commands, one command, or a further topic.

docs/reference.md is generated from the topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.options import example

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Rows(NamedTuple):
    """A table: the titles of its columns, and its rows. The first column is code."""

    heads: tuple[str, str]
    rows: tuple[tuple[str, str], ...]


class Bullets(NamedTuple):
    """A list of paragraphs."""

    items: tuple[str, ...]


class Topic(NamedTuple):
    """A topic: its line in the list of topics, and its paragraphs, lists and tables in order."""

    summary: str
    blocks: tuple[str | Rows | Bullets, ...]


EXIT_CODES = Topic(
    "The meaning of a command's exit code.",
    (
        Rows(
            ("code", "meaning"),
            (
                (
                    "0",
                    "Done. Also where `send --if-changed` was told no: it prints no answer, with `--json` the"
                    " status `skipped`.",
                ),
                (
                    "1",
                    "The turn failed, was cancelled or refused, or a limit stopped it without an answer;"
                    " or hermes-jobs itself has an error.",
                ),
                ("2", "Wrong usage or configuration. Nothing was recorded."),
                ("3", "Timed out (`--timeout`). The turn continues."),
                ("4", "No credentials, or the provider refused them."),
                ("5", "The log cannot be reached or is broken; for a worker also its broker."),
                ("6", "The answer does not fit the schema (`--schema`), also after a correction."),
                ("130", "Interrupted (Ctrl-C)."),
            ),
        ),
        "A turn that a limit stopped (`stopped_by`) exits 0 if the model answered with what it had, also if"
        " that is cut off. It exits 1 if the model gave no answer, or all its tool calls were refused. Its"
        " `status` is `completed` in both cases. A used-up budget is a failure: 1.",
        "With `--json` and `--jsonl` the codes are the same; a turn's `error` says more.",
    ),
)

ENVIRONMENT = Topic(
    "Environment variables that are read.",
    (
        "Precedence: a flag, a variable, `.env` in the home, `config.yaml`.",
        Rows(
            ("variable", "meaning"),
            (
                ("HERMES_JOBS_HOME", "The home: its log, memory, skills, settings. Default: ~/.hermes-jobs."),
                ("HERMES_JOBS_MODEL", "The model, as `model.model`."),
                ("HERMES_JOBS_LOG_URL", "The log's database, if it is not a file in the home."),
                ("HERMES_JOBS_BROKER_URL", "The broker, if it is not the embedded one."),
                (
                    "HERMES_JOBS_BUDGETS__DAY_USD",
                    "The key `budgets.day_usd`; any other key likewise.",
                ),
                ("HERMES_JOBS_DEBUG", "1 shows tracebacks."),
                ("OPENAI_API_KEY", "OpenAI's key, and that of an endpoint without a provider of its own."),
                ("ANTHROPIC_API_KEY", "Anthropic's key. Other providers: docs/providers.md."),
                ("OPENAI_BASE_URL", "Address of the API, as `model.base_url`."),
                ("ANTHROPIC_BASE_URL", "Address of the Messages API."),
                (
                    "BRAVE_API_KEY",
                    "Key of Brave Search; also TAVILY_API_KEY, EXA_API_KEY: `web.search.provider`.",
                ),
                ("TELEGRAM_BOT_TOKEN", "Token of the Telegram bot."),
                ("NO_COLOR", "If set, output has no colours."),
                ("COLUMNS", "The width of help texts."),
                ("EDITOR, VISUAL", "The editor of `config edit`."),
                ("SHELL", "The shell of `!command` in chat."),
            ),
        ),
        "Keys belong in the environment or in `.env` (mode 600); `hermes-jobs setup` and "
        "`hermes-jobs config set NAME` write it.",
    ),
)

FILES = Topic(
    "What is in the home, and which files of a project are read.",
    (
        "The home is HERMES_JOBS_HOME, else ~/.hermes-jobs. Files that you may edit:",
        Rows(
            ("file", "what it is"),
            (
                ("config.yaml", "Settings; `config set` changes one, `config show` lists all."),
                (".env", "Keys and other secrets, mode 600."),
                ("SOUL.md", "The agent's personality."),
                ("AGENTS.md", "Your instructions for all work."),
                ("memories/", "MEMORY.md and USER.md: the memory."),
                ("skills/", "Skills: a folder with a SKILL.md each."),
                ("commands/", "Slash commands of your own for chat: a NAME.md each."),
                ("plugins/", "Memory providers and context engines of your own."),
            ),
        ),
        "Kept by hermes-jobs:",
        Rows(
            ("file", "what it is"),
            (
                ("events.db", "The log: everything that happened. `backup` copies it while it is in use."),
                ("views/", "Read models of the listings; rebuilt from the log if deleted."),
                ("results/", "Tool results too large for the log."),
                ("snapshots/", "Earlier versions of files, for `turns rewind`."),
                ("chat_history", "The input history of chat."),
                ("mcp/", "Logins at MCP servers, mode 600."),
                ("logs/, run/", "Of running processes."),
            ),
        ),
        "In the working folder:",
        Rows(
            ("file", "what it is"),
            (
                (
                    "AGENTS.md",
                    "Project instructions; first of .hermes.md, AGENTS.md, CLAUDE.md, .cursorrules, in this"
                    " folder and in each above it up to its repository's root.",
                ),
                (".hermes/commands/", "Slash commands of the project; .claude/commands/ is read, too."),
                (".gitignore", "Files that searches skip."),
            ),
        ),
    ),
)

JSON = Topic(
    "What `--json` prints.",
    (
        "One convention for every `--json`:",
        Bullets(
            (
                "A listing prints one list, a `show` one object, a change the object as it then is."
                " Nothing else goes to standard output.",
                "An id stands under what it is the id of: `turn`, `session`, `review`, `schedule`,"
                " `delivery`, `step`, `call`. What people name (a skill, a queue, a model) has a `name`. No"
                " key is called `id`, but in what other programs define (training data).",
                "A moment is ISO 8601; its key is `at` or ends in `_at` (of steps: `start`, `end`). A length"
                " of time says its unit (`duration_ms`, `oldest_seconds`); a count begins with `num_`. Tokens"
                " are a `usage` of seven figures, money is `cost_usd`; `null` where a price is not known.",
                "`null` is “none”, or “not known”. A key that is there only sometimes is named in the"
                " command's help.",
                "Keys are added, and none changes its meaning. Readers should skip what they do not know.",
            )
        ),
        "A turn, as `send --json`, `turns wait --json` and `turns show --json` print it, has `status`,"
        " `result` and, where it failed, `error` (`kind`, `message`, `hint`). `is_error` is true once it"
        " has ended without having done what was asked: it failed, was cancelled, or was stopped;"
        " `stopped_by` then names the limit: `max_iterations`, `loop_guard`, `length`, `budget`, `schema`"
        " (the answer does not fit it), `refused` (nobody attended it, and no tool call was allowed).",
        "With `send --schema FILE` the `result` is a JSON document that fits the schema, and `structured` the"
        " same as a value.",
        "`--jsonl` prints what happens in a turn, one object a line, with one of these as its `type`:",
        Rows(
            ("type", "line"),
            (
                ("text", "A piece of what the model says: `turn`, `step`, `attempt`, `at`, `text`."),
                ("turn", "The last line: the turn as `--json` prints it."),
                (
                    "TurnSubmitted …",
                    "An event, as `log events --json` prints it: its names begin with a capital.",
                ),
            ),
        ),
        "`at` characters of the step's attempt stand before a piece; at 0 it begins again. `ModelReplied` of"
        " the same step has the whole text, also where pieces got lost or none came; `ModelCallFailed` takes"
        " them back. `--no-stream` leaves pieces out.",
    ),
)

TOPICS: Mapping[str, Topic] = {
    "exit-codes": EXIT_CODES,
    "environment": ENVIRONMENT,
    "files": FILES,
    "json": JSON,
}


def _complete(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
    from click.shell_completion import CompletionItem

    root = context.find_root().command
    assert isinstance(root, click.Group)
    names = [*root.list_commands(context.find_root()), *TOPICS]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@command("help", epilog=example("hermes-jobs help turns show", "hermes-jobs help exit-codes"))
@click.argument("words", metavar="[COMMAND|TOPIC]", nargs=-1, shell_complete=_complete)
@click.pass_context
def help_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command or a topic.

    Topics: exit-codes, environment, files, json.
    """
    topic = TOPICS.get(words[0]) if len(words) == 1 else None
    if topic is not None:
        click.echo(help_text(topic, context.make_formatter()), nl=False)
        return
    root = context.find_root()
    click_context = click.Context(root.command, info_name=root.info_name, **_settings(root))
    for word in words:
        click_context = _below(click_context, word)
    click.echo(click_context.get_help())


def _below(parent: click.Context, word: str) -> click.Context:
    """The command of that name below the parent. Raises a usage error with similar names."""
    group = parent.command
    if not isinstance(group, click.Group):
        raise click.UsageError(f"{parent.command_path!r} has no commands of its own.")
    command = group.get_command(parent, word)
    if command is not None:
        return click.Context(command, info_name=word, parent=parent, **_settings(parent))
    from difflib import get_close_matches

    names = [*group.list_commands(parent), *(TOPICS if parent.parent is None else ())]
    nearest = get_close_matches(word.lower(), names, n=2)
    suggestion = f" Did you mean {' or '.join(nearest)}?" if nearest else ""
    raise click.UsageError(
        f"There is no command or topic {word!r}.{suggestion}\nTopics: {', '.join(TOPICS)}."
    )


def _settings(context: click.Context) -> dict[str, Any]:
    return {
        "help_option_names": context.help_option_names,
        "max_content_width": context.max_content_width,
        "color": context.color,
    }


def help_text(topic: Topic, formatter: click.HelpFormatter) -> str:
    """The topic as text for a terminal."""
    for index, block in enumerate(topic.blocks):
        if index:
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
