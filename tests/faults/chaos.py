"""Seeds of chaos: workers killed, paused and given wrong clocks, over a log and a broker that fail.

`python -m tests.faults.chaos FIRST [LAST]` runs seeds one after the other, on SQLite where even, on
PostgreSQL where odd, and says of each what `tests.faults.checker` found.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import psycopg
from redis import Redis

from hermes_jobs.errors import LogUnavailable, Rejected
from hermes_jobs.features.schedules.tables import select_schedules
from hermes_jobs.kernel.log.factory import sqlite_url
from hermes_jobs.kernel.streams.streams import SESSIONS
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.views.generations import Generations
from hermes_jobs.runtime.broker_address import find_server
from tests.faults.checker import Given, Line, violations
from tests.faults.crew import Crew, wait_until
from tests.faults.fleet import Fleet
from tests.faults.redis_server import RedisServer
from tests.home import Home, endpoint
from tests.model_script import Action, Answer, AskedCall, Drop, Refuse, Seen, counted_usage
from tests.model_server import ModelServer
from tests.reviews.talker import is_flush, is_review, is_summary, talker
from tests.services import POSTGRES_URL, postgres_schema
from tests.tools.support import processes_with

WORKERS = 2
ACTIONS = 16
NOTE = "note.txt"
SHOWN = 3  # rows of a difference
FIRST_OUTPUT_TOKENS = (
    1000  # of the first response; each later one has one more, so that all can be told apart
)
TAG = re.compile(r"tag-\w+ |This is a review of the conversation")
FAILING = 0.08  # of the model's calls
FAILING_SUMMARIES = 0.4
ENVIRON = {
    "HERMES_JOBS_MODEL__CONTEXT_LENGTH": "12000",  # tokens: sessions are compressed again and again
    "HERMES_JOBS_COMPRESSION__PROTECT_LAST_N": "4",
    "HERMES_JOBS_MEMORY__NUDGE_INTERVAL": "3",
    "HERMES_JOBS_WORKERS__LEASE_SECONDS": "2",
    "HERMES_JOBS_WORKERS__ONE_CPU": "false",
}


class Chaos:
    """An installation, its load, and what befalls both, all chosen by one seed."""

    def __init__(
        self, seed: int, folder: Path, log_url: str, server: ModelServer, broker: RedisServer
    ) -> None:
        self.random = random.Random(seed)
        self.effects = folder / "work" / "effects"
        self.server = server
        self._broker = broker
        environ = {
            **endpoint(server.base_url),
            **ENVIRON,
            "HERMES_JOBS_LOG_URL": log_url,
            "HERMES_JOBS_BROKER_URL": broker.url,
        }
        self.home = Home(folder, environ)
        (self.home.work / NOTE).write_text("Water the roses.")
        self.requests: dict[int, str] = {}
        self._rules = random.Random(seed + 1)
        server.follow(self._reply)
        self.fleet = Fleet(self.home, folder)
        self.crew = Crew([self.home])
        self._paused: dict[int, int] = {}
        self._url = log_url
        self.told: list[str] = []

    def _reply(self, seen: Seen) -> Action:
        answer = self._answer(seen)
        if not isinstance(answer, Answer):
            return answer
        tokens = FIRST_OUTPUT_TOKENS + seen.number
        found = None if is_summary(seen) or is_flush(seen) else TAG.search(seen.last_user_text)
        self.requests[tokens] = found[0] if found else ""
        counted = counted_usage(seen.body, answer)
        usage = {"prompt_tokens": counted["prompt_tokens"], "completion_tokens": tokens}
        return Answer(
            text=answer.text, tool_calls=answer.tool_calls, usage=usage, delay=self._rules.random() / 3
        )

    def _answer(self, seen: Seen) -> Action:
        if self._rules.random() < (FAILING_SUMMARIES if is_summary(seen) else FAILING):
            return self._rules.choice((Refuse(status=500), Refuse(status=400), Drop(text="And so ")))
        own = not (is_summary(seen) or is_flush(seen) or is_review(seen))
        if own and seen.last_user_text.startswith("hand ") and not seen.rounds:
            return self._delegation(seen.last_user_text.split()[1])
        if not own or not seen.last_user_text.startswith("tool "):
            return talker(seen)
        tag, done = seen.last_user_text.split()[1], seen.rounds
        if done == 2:
            return Answer(text=f"Done: {tag}. " + "blah " * 100)
        pause = self._rules.choice(("", "", "sleep 0.3", "sleep 1", "trap '' TERM; sleep 1.5"))
        write = f"echo {tag}-{done} >> '{self.effects}'; {pause}"
        return Answer(
            tool_calls=(AskedCall("terminal", {"command": write}), AskedCall("read_file", {"path": NOTE}))
        )

    def _delegation(self, tag: str) -> Answer:
        """Two sub-agents, of which one writes; the turn waits for them or not."""
        tasks = [{"goal": f"tool {tag}a Write it."}, {"goal": f"talk {tag}b Say it."}]
        waits = self._rules.random() < 0.5
        return Answer(tool_calls=(AskedCall("delegate", {"tasks": tasks, "wait": waits}),))

    def run(self) -> None:
        """Start, live through it, calm down."""
        for number in range(WORKERS):
            self.fleet.start(number)
        self._schedule()
        for _ in range(6):
            self._submit()
        for _ in range(ACTIONS):
            self._let_happen(self.random.randint(2, 30))
            self._wake_up()
            name, act = self.random.choice(self._acts())
            self.told.append(name)
            with suppress(Rejected, LogUnavailable):
                act()
        self._calm_down()

    def _acts(self) -> list[tuple[str, Callable[[], None]]]:
        acts = [
            ("kill", self._kill),
            ("kill", self._kill),
            ("pause", self._pause),
            ("pause", self._pause),
            ("clock", self._jump),
            ("flush", self._flush),
            ("broker", self._kill_broker),
            ("compress", self._compress),
            ("compress", self._compress),
            ("cancel", self._cancel),
            ("look", self._look),
            ("submit", self._submit),
            ("submit", self._submit),
        ]
        return [*acts, *[("cut", self._cut)] * 3] if self._url.startswith("postgres") else acts

    def _worker(self) -> int:
        return self.random.randrange(WORKERS)

    def _kill(self) -> None:
        number = self._worker()
        self._paused.pop(number, None)
        self.fleet.kill(number)
        self.fleet.start(number)

    def _pause(self) -> None:
        number = self._worker()
        self.fleet.signal(number, signal.SIGSTOP)
        self._paused[number] = self.random.randint(1, 3)

    def _wake_up(self) -> None:
        for number, actions in list(self._paused.items()):
            if actions:
                self._paused[number] = actions - 1
            else:
                del self._paused[number]
                self.fleet.signal(number, signal.SIGCONT)

    def _jump(self) -> None:
        self.fleet.shift(self._worker(), self.random.choice((-4000, -70, -5, 5, 20)))

    def _flush(self) -> None:
        with Redis.from_url(self._broker.url) as redis:
            redis.flushall()

    def _kill_broker(self) -> None:
        self._broker.kill()
        self._broker.start()

    def _compress(self) -> None:
        """By hand; now and then with a text that waits for it, or is taken back meanwhile."""
        stream = self.random.choice(self._conversations())
        engine = self.crew.application.engine()
        with suppress(Rejected):
            engine.execute(stream, c.RequestCompression(reason="manual"))
        if self.random.random() < 0.5:
            self._submit(stream.removeprefix(SESSIONS))
        current = engine.sessions.load(stream).current
        if current is not None and self.random.random() < 0.3:
            engine.execute(stream, c.CancelTurn(turn=current.id, by="chaos"))

    def _conversations(self) -> list[str]:
        """The streams of those that people hold: reviews have ids of another form."""
        return [each.stream for each in self.crew.log.streams(f"{SESSIONS}s")]

    def _cancel(self) -> None:
        turn = self.random.choice(self.crew.accepted)
        self.crew.application.engine().execute(self._stream_of(turn), c.CancelTurn(turn=turn, by="chaos"))

    def _stream_of(self, turn: str) -> str:
        return f"{SESSIONS}{self.crew.application.views.turn(turn).lineage}"

    def _look(self) -> None:
        self.crew.application.views.read(select_schedules)

    def _cut(self) -> None:
        """Cut a connection of the log, as a restart of the server or a firewall does."""
        with psycopg.connect(POSTGRES_URL.replace("+psycopg", ""), autocommit=True) as connection:
            mine = "SELECT pid FROM pg_stat_activity WHERE application_name = %s ORDER BY pid"
            pids = [row[0] for row in connection.execute(mine, (_application(self._url),))]
            for pid in self.random.sample(pids, min(len(pids), self.random.choice((1, 3, 100)))):
                connection.execute("SELECT pg_terminate_backend(%s)", (pid,))

    def _submit(self, session: str | None = None) -> None:
        number = len(self.crew.texts)
        kind = self.random.choice(("tool", "talk", "tool", "hand"))
        sessions = [each.removeprefix(SESSIONS) for each in self._conversations()]
        if session is None and sessions and self.random.random() < 0.7:
            session = self.random.choice(sessions)
        self.crew.submit(f"{kind} tag-{number} " + "word " * 100, session)

    def _schedule(self) -> None:
        words = ("--every", "1m", "--task", "talk tag-s Look.", "--name", "garden", "--yes")
        added = self.home.run("schedule", "add", *words)
        assert added.code == 0, added

    def _let_happen(self, events: int) -> None:
        """Wait for so many more events, but not for ever: all may be paused."""
        with suppress(LogUnavailable):
            log = self.crew.log
            after, seconds = log.last_position(), 2.0
            for _ in range(40):
                if log.last_position() >= after + events or not log.wait(log.last_position(), seconds / 40):
                    seconds -= 0.05
                if log.last_position() >= after + events:
                    return

    def _calm_down(self) -> None:
        for number in list(self._paused):
            self.fleet.signal(number, signal.SIGCONT)
        for number in range(WORKERS):
            self.fleet.shift(number, 0)
        (schedule,) = self.home.run("schedule", "list", "--json").json
        removed = self.home.run("schedule", "remove", schedule["schedule"])
        assert removed.code == 0, removed
        wait_until(self._is_done, lambda: f"the end of {self.crew.log.steps()}")

    def _is_done(self) -> bool:
        for number in range(WORKERS):
            self.fleet.restart_if_exited(number)
        return not self.crew.log.steps()

    # --- judging --------------------------------------------------------------------------------

    def found(self) -> list[str]:
        """What is wrong, a line each; nothing is due any more."""
        lines = list(self.exported())
        (self.home.path.parent / "events.jsonl").write_text("\n".join(map(json.dumps, lines)))
        given = [
            Given(usage["completion_tokens"], self.requests[usage["completion_tokens"]])
            for usage in self.server.reported
        ]
        verified = self.home.run("events", "verify")
        return [
            *violations(lines, given),
            *([] if verified.code == 0 else [f"events verify: {verified.out}{verified.err}"]),
            *self._doubled_effects(),
            *self._views_that_differ(),
            *[f"process {pid} of a tool is still alive" for pid in processes_with(str(self.effects))],
        ]

    def exported(self) -> Iterator[Line]:
        """The log as people get it."""
        ran = self.home.run("events", "--after", "0", "--json")
        assert ran.code == 0, ran
        yield from map(json.loads, ran.out.splitlines())

    def _doubled_effects(self) -> list[str]:
        written = self.effects.read_text().split() if self.effects.exists() else []
        return [
            f"effect {each} happened {written.count(each)} times"
            for each in set(written)
            if written.count(each) > 1
        ]

    def _views_that_differ(self) -> list[str]:
        """The tables as they were kept, beside those that a rebuild makes of the log."""
        views = self.crew.application.views
        views.catch_up()
        kept = _tables(self.home.path / "views")
        views.rebuild()
        made = _tables(self.home.path / "views")
        return [
            f"the view {name} differs after a rebuild: {_difference(kept[name], made[name])}"
            for name in kept
            if kept[name] != made.get(name)
        ]


def _tables(folder: Path) -> dict[str, list[str]]:
    """The rows of every table of the current generation but the index's own, sorted."""
    file = Generations(folder).current()
    assert file is not None
    with closing(sqlite3.connect(file)) as connection:
        named = "SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        names = [row[0] for row in connection.execute(named)]
        return {name: sorted(map(repr, connection.execute(f"SELECT * FROM {name}"))) for name in names}


def _difference(kept: list[str], made: list[str]) -> str:
    gone = [row for row in kept if row not in made]
    new = [row for row in made if row not in kept]
    return f"only before {gone[:SHOWN]}, only after {new[:SHOWN]}"


def _application(url: str) -> str:
    return f"chaos-{url[-12:]}"


@contextmanager
def _log_url(folder: Path, kind: str) -> Iterator[str]:
    if kind == "sqlite":
        yield sqlite_url(folder / "events.db")
        return
    with postgres_schema() as url:
        yield f"{url}&application_name={_application(url)}"


def run_seed(seed: int, folder: Path, kind: str) -> list[str]:
    """Run one seed on a kind of log; what was wrong."""
    with ExitStack() as stack:
        url = stack.enter_context(_log_url(folder, kind))
        server = stack.enter_context(closing(ModelServer().start()))
        broker = stack.enter_context(RedisServer(find_server(), folder))
        chaos = Chaos(seed, folder, url, server, broker)
        stack.callback(chaos.crew.application.close)
        stack.callback(chaos.fleet.close)
        try:
            chaos.run()
            return chaos.found()
        except AssertionError as error:
            return [f"stuck after {' '.join(chaos.told)}: {error}"]


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(first: int, last: int) -> None:
    """Run the seeds; exit code 1 where something was found, whose folder stays."""
    failed = 0
    for seed in range(first, last + 1):
        kind = ("sqlite", "postgres")[seed % 2]
        folder = Path(tempfile.mkdtemp(prefix=f"chaos-{seed}-"))
        found = run_seed(seed, folder, kind)
        failed += bool(found)
        _tell(f"seed {seed} on {kind}: {'clean' if not found else folder}")
        for each in found:
            _tell(f"    {each}")
        if not found:
            shutil.rmtree(folder)
    _tell(f"{failed} of {last + 1 - first} seeds failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[-1]))
