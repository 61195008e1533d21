"""Play the ten failures: `python -m tests.demo.failures [NUMBER ...]`.

The plain agent runs on a Redis of its own; hermes-jobs on SQLite with the embedded broker, and, where
there is a PostgreSQL, on that with another Redis. `docs/agents-on-celery.md` explains each scene.
"""

from __future__ import annotations

import logging
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from tests.demo.failures import own_scenes, plain_scenes
from tests.demo.failures.own_scenes import Own
from tests.demo.failures.stage import Outcome, Plain
from tests.faults.redis_server import RedisServer
from tests.services import postgres_schema

TITLES: Mapping[int, str] = {
    1: "A task that takes longer than the visibility timeout",
    2: "A worker killed after the agent paid (acks_late)",
    3: "One of three sub-agents is killed (chord)",
    4: "Twelve agents that wait for their model (prefork)",
    5: "Redis is full (result backend)",
    6: "A turn that takes longer than the limit",
    7: "The broker is killed and comes back empty",
    8: "Two schedulers run (beat)",
    9: "Who watches the answer loses the connection",
    10: "A running call is cancelled (revoke)",
}
PLAIN = f"Celery {version('celery')}, Redis"
SQLITE = "SQLite, embedded broker"
POSTGRES = "PostgreSQL, Redis"
SIDE_BY_SIDE: Mapping[str, frozenset[int]] = {
    PLAIN: frozenset(TITLES),  # each of its scenes has processes of its own
    SQLITE: frozenset({1, 6, 8, 9, 10}),  # the others kill what all use, hold the model, or measure memory
    POSTGRES: frozenset({1, 6, 8, 9, 10}),
}
AT_ONCE = {PLAIN: 3, SQLITE: 5, POSTGRES: 5}
Play = Callable[[int], Outcome]


def main(numbers: Sequence[int]) -> int:
    """Play these scenes, all sides at once; 1 if hermes-jobs lost something."""
    logging.disable(logging.WARNING)
    sys.unraisablehook = lambda _error: None  # what results of Celery say when their Redis is gone
    redis_server = shutil.which("redis-server")
    lost: dict[str, int] = {}
    began = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        sides = {**_plain(folder, redis_server), **_own(stack, folder, redis_server)}
        played = {side: _submit(stack, side, play, numbers) for side, play in sides.items()}
        for number in numbers:
            click.echo(f"{number}. {TITLES[number]}")
            for side in sides:
                outcome = _outcome(played[side][number])
                lost[side] = lost.get(side, 0) + outcome.lost
                mark = f"✗ {outcome.lost}" if outcome.lost else "✓"
                click.echo(f"   {side:<{len(SQLITE)}}  {mark:<4} {outcome.text}")
        click.echo(f"\nLost, doubled or left over, in {time.monotonic() - began:.0f} seconds:")
    for side, count in lost.items():
        click.echo(f"   {side:<{len(SQLITE)}}  {count or 'nothing'}")
    return int(any(count for side, count in lost.items() if side != PLAIN))


def _submit(stack: ExitStack, side: str, play: Play, numbers: Sequence[int]) -> Mapping[int, Future[Outcome]]:
    """Have the scenes of one side played: first those that can be together, then one after the other."""
    together = stack.enter_context(ThreadPoolExecutor(AT_ONCE[side]))
    alone = stack.enter_context(ThreadPoolExecutor(1))
    at_once = {number: together.submit(play, number) for number in numbers if number in SIDE_BY_SIDE[side]}
    alone.submit(wait, at_once.values())
    return at_once | {number: alone.submit(play, number) for number in numbers if number not in at_once}


def _plain(folder: Path, redis_server: str | None) -> dict[str, Play]:
    if redis_server is None:
        click.echo("Without redis-server the plain agent is not played.")
        return {}

    def play(number: int) -> Outcome:
        own_folder = folder / f"plain-{number}"
        own_folder.mkdir()
        with RedisServer(redis_server, own_folder) as redis:
            plain = Plain(own_folder, redis)
            try:
                with plain.client() as app:
                    return plain_scenes.SCENES[number](plain, app)
            finally:
                plain.close()

    return {PLAIN: play}


def _own(stack: ExitStack, folder: Path, redis_server: str | None) -> dict[str, Play]:
    """The installations that this machine can have, which start meanwhile."""
    starting = stack.enter_context(ThreadPoolExecutor(2))
    owns = {SQLITE: starting.submit(Own, folder / "sqlite", {}, None)}
    try:
        log = stack.enter_context(postgres_schema())
    except (pytest.skip.Exception, pytest.fail.Exception) as missing:
        click.echo(f"{missing} hermes-jobs is played on SQLite alone.")
        redis_server = None
    if redis_server is not None:
        broker = stack.enter_context(RedisServer(redis_server, folder))
        owns[POSTGRES] = starting.submit(Own, folder / "postgres", {"HERMES_JOBS_LOG_URL": log}, broker)
    for own in owns.values():
        stack.callback(_close, own)
    return {side: partial(_play_own, own) for side, own in owns.items()}


def _play_own(own: Future[Own], number: int) -> Outcome:
    return own_scenes.SCENES[number](own.result())


def _close(own: Future[Own]) -> None:
    if own.exception() is None:
        own.result().close()


def _outcome(played: Future[Outcome]) -> Outcome:
    try:
        return played.result()
    except Exception as error:  # noqa: BLE001 - a scene that breaks is shown, and the others go on
        return Outcome(f"broke: {type(error).__name__}: {error}", 1)


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]] or list(TITLES)))
