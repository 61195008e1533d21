"""The command lines that the documentation shows, and whether the command line would take them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from hermes_jobs.interfaces.cli import hermes_jobs
from tests.docs.pages import Page

SHOWN = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(?:[\w./~-]*/)?hermes-jobs(?P<rest>(?:\s.*)?)$")
ENDS = {"|", "||", "&&", ";", "&", ">", ">>", "2>", "<"}


def shown(page: Page) -> Iterator[tuple[list[str], bool]]:
    """Arguments of each `hermes-jobs` on the page, and whether they are all there, as in a block."""
    for block in page.code_blocks:
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            for command in re.split(r"\s(?:\||&&)\s", line.strip()):
                yield from ((arguments, True) for arguments in _arguments(command))
    for span in page.code_spans:
        yield from ((arguments, False) for arguments in _arguments(span))


def _arguments(command: str) -> Iterator[list[str]]:
    match = SHOWN.match(command)
    if match is None:
        return
    # In a block that is not a shell's, what a command does stands beside it, apart by some blanks.
    words = shlex.split(re.split(r"\s{3,}(?!#)", match["rest"].strip())[0], comments=True)
    ends = [at for at, word in enumerate(words) if word in ENDS]
    yield words[: ends[0]] if ends else words


def check(arguments: list[str], *, whole: bool) -> None:
    """Raise `click.UsageError` where the arguments do not fit; without `whole` some may be missing.

    Nothing is run: no command, no callback of an option.
    """
    command: click.Command = hermes_jobs
    context = click.Context(command, info_name="hermes-jobs")
    rest = list(arguments)
    if rest[:1] == ["COMMAND"]:
        return  # it stands for any
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"No such command {rest[0]!r}.", context)
        command, context = found, click.Context(found, info_name=rest.pop(0), parent=context)
    given, left, _ = command.make_parser(context).parse_args(rest)
    if left:
        raise click.UsageError(f"Unexpected: {left}", context)
    for parameter in command.params:
        value = given.get(parameter.name or "")
        is_given = value is not None and not repr(value).startswith("Sentinel")
        if isinstance(parameter, click.Argument) and parameter.required and whole and not is_given:
            raise click.MissingParameter(ctx=context, param=parameter)
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            parameter.type.convert(value, parameter, context)
