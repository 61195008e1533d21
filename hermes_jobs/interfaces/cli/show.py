"""`hermes-jobs show`: what an id means, shown by the command of its kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example, limit_option
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.param_types import NonEmpty
from hermes_jobs.kernel.feature import Finder, finders
from hermes_jobs.kernel.streams.streams import kinds

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

OF_THE_KERNEL: dict[str, Finder] = {
    "turns show": lambda application, name: application.views.find_turn(name),
    "sessions show": lambda application, name: application.views.find_session(name),
}
EVENTS = "log events --stream"
"""Shows what has no command of its own."""
SENT_AGAIN = "~"
"""Behind it is the number of the message, in the id of a task whose message was sent more than once."""


@command(epilog=example("hermes-jobs show t3k9", "hermes-jobs show t3k9-2-0~1 --json"))
@click.argument("text", metavar="ID", type=NonEmpty())
@limit_option("of what that command lists", default=None)
@click.pass_context
def show(click_context: click.Context, text: str, limit: int | None, as_json: Json) -> object:
    """Show what an id means: a turn, session, review, schedule, delivery, a task in Flower.

    The beginning of an id is enough if nothing else begins so. The id of a step or a call shows what it
    belongs to. With --json you get the JSON of the command that shows it, which a note names otherwise.
    """
    words, id_ = find(click_context.ensure_object(CliContext).application, text)
    if not as_json:
        note(f"hermes-jobs {words} {id_}")
    cut = [] if limit is None else ["-n", str(limit)]
    return _run(click_context, [*words.split(), id_, *cut, *["--json"] * as_json])


def find(application: Application, text: str) -> tuple[str, str]:
    """The command that shows what the id means, and the id that it takes.

    Raises `Rejected`: `ambiguous`, or `unknown_id`.
    """
    for name in _owners(text):
        stream = _stream(application, name)
        name = _id_in(stream) if stream == name else name  # noqa: PLW2901 - a stream's name holds the id
        for id_, words in _matches(application, name).items():
            if stream or id_ == name:
                return words, id_
        if stream:
            return EVENTS, stream
    found = _matches(application, text)
    if len(found) > 1:
        several = ", ".join(f"{id_} ({words.partition(' ')[0]})" for id_, words in found.items())
        raise Rejected(f"{text!r} fits several: {several}.", kind="ambiguous", hint="Give more of the id.")
    for id_, words in found.items():
        return words, id_
    hint = "See `hermes-jobs turns list`, `sessions list`, `reviews list`, `inbox list --all` or `queues`."
    raise Rejected(f"Nothing has the id {text!r}.", kind="unknown_id", hint=hint)


def _owners(text: str) -> Iterator[str]:
    """The id, and the ids that it may begin with: a step's id begins with that of what it belongs to."""
    name = text.partition(SENT_AGAIN)[0]
    while name:
        yield name
        name = name.rpartition("-")[0]


def _matches(application: Application, name: str) -> dict[str, str]:
    """The commands by the ids that the name means to them. Raises `Rejected`, kind `ambiguous`."""
    found: dict[str, str] = {}
    for words, finder in {**finders(), **OF_THE_KERNEL}.items():
        try:
            found.setdefault(finder(application, name), words)
        except Rejected as refused:
            if refused.kind == "ambiguous":
                raise
    return found


def _stream(application: Application, name: str) -> str:
    """The stream of that id, or of that name."""
    streams = (name, *(f"{kind.prefix}{name}" for kind in kinds()))
    return next((stream for stream in streams if application.log.head(stream) is not None), "")


def _id_in(stream: str) -> str:
    prefixes = (kind.prefix for kind in kinds() if stream.startswith(kind.prefix))
    return stream.removeprefix(max(prefixes, key=len, default="")) or stream


def _run(click_context: click.Context, words: list[str]) -> object:
    """Run a command by its words, below the group that all commands are in."""
    root = click_context.find_root()
    assert isinstance(root.command, click.Group)
    with root.command.make_context(root.info_name, words, parent=None, obj=root.obj) as child:
        return root.command.invoke(child)
