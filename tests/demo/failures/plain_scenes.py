"""The ten failures with the plain agent."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Mapping

from celery import Celery, chord
from celery.exceptions import ChordError, TimeLimitExceeded
from celery.exceptions import TimeoutError as NoResult
from celery.result import AsyncResult
from kombu.exceptions import OperationalError
from redis import Redis
from redis.exceptions import RedisError

from tests.demo.failures.stage import AGENTS, PATIENCE, STORY, Outcome, Plain, group, kill, lines, megabytes
from tests.tools.support import wait_until

Scene = Callable[[Plain, Celery], Outcome]
CITIES = ("Porto", "Lisbon", "Faro")
SOON = {"VISIBILITY": "1"}  # seconds, for an hour; a worker looks for such tasks 10 s after its start


def ask(app: Celery, question: str, **options: str) -> AsyncResult:
    return app.signature("agent", (question,)).apply_async(**options)


def long_task(plain: Plain, app: Celery) -> Outcome:
    plain.worker(2, **SOON)
    result = ask(app, "Pay the long invoice.")
    plain.model.waits_until_asked("long invoice", 1)
    plain.worker(2, **SOON)
    result.get(timeout=PATIENCE)
    wait_until(lambda: lines(plain.ledger) == 2, "the second payment", seconds=PATIENCE)
    return Outcome("the task ran twice at once; paid 2 times", 1)


def late_acknowledgement(plain: Plain, app: Celery) -> Outcome:
    first = plain.worker(2, **SOON)
    result = ask(app, "Pay the invoice.")
    plain.model.waits_until_asked("the invoice", 1, rounds=1)
    kill(first)
    plain.worker(2, **SOON)
    assert result.get(timeout=PATIENCE) == "Paid."
    return Outcome(
        f"began again with its first step; paid {lines(plain.ledger)} times", lines(plain.ledger) - 1
    )


def lost_chord(plain: Plain, app: Celery) -> Outcome:
    plain.worker(4, LIMIT="10")
    header = [app.signature("agent", (f"Research {city}",)) for city in CITIES]
    answer = chord(header, app.signature("summarise", ("Compare.",)), app=app).apply_async()
    with contextlib.suppress(ChordError, TimeLimitExceeded):
        answer.get(timeout=PATIENCE)
    found = sum(result.successful() for result in answer.parent.results)
    lost = found if not plain.model.asked("Compare") else 0
    return Outcome(f"one of three was killed, {found} were done; nothing was made of them", lost)


def memory(plain: Plain, app: Celery) -> Outcome:
    worker = plain.worker(AGENTS)
    results = [ask(app, f"Wait {number}.") for number in range(AGENTS)]
    plain.model.waits_until_asked("Wait", AGENTS)
    used = megabytes(group(worker))
    plain.model.gate.set()
    for result in results:
        result.get(timeout=PATIENCE)
    return Outcome(f"{AGENTS + 1} processes, {used} MB", 0)


def full_backend(plain: Plain, app: Celery) -> Outcome:
    plain.worker(2)
    ask(app, "Hello.").get(timeout=PATIENCE)
    plain.redis.limit(1_000_000)
    answered = 0
    for number in range(AGENTS):
        with contextlib.suppress(NoResult, OperationalError, RedisError):
            ask(app, f"Write long report {number}.").get(timeout=4)
            answered += 1
    return Outcome(f"{answered} of {AGENTS} answers; after them it takes no tasks", AGENTS - answered)


def time_limit(plain: Plain, app: Celery) -> Outcome:
    plain.worker(1, LIMIT="5")
    with contextlib.suppress(TimeLimitExceeded):
        ask(app, "Take four calls.").get(timeout=PATIENCE)
        return Outcome("answered", 0)
    return Outcome(f"killed after 5 s; payments: {lines(plain.ledger)}, answers: 0", 1)


def restarted_broker(plain: Plain, app: Celery) -> Outcome:
    plain.worker(1)
    ask(app, "Wait.")
    plain.model.waits_until_asked("Wait", 1)
    for number in range(3):
        ask(app, f"Question {number}.")
    plain.redis.kill()
    plain.redis.start()
    plain.model.gate.set()
    deaf = ""
    with plain.client() as later:
        try:
            ask(later, "Are you there?").get(timeout=30)
        except (NoResult, RedisError):
            deaf = ", and the worker takes no new ones"
    answered = plain.model.asked("Question")
    return Outcome(f"{answered} of 3 waiting tasks were performed{deaf}", 3 - answered)


def two_schedulers(plain: Plain, _app: Celery) -> Outcome:
    plain.worker(2)
    for number in (1, 2):
        plain.start("beat", "-s", f"schedule-{number}", ready="beat: Starting")
    plain.model.waits_until_asked("digest", 4)
    return Outcome("2 due times, 4 digests", 2)


def watched_answer(plain: Plain, app: Celery) -> Outcome:
    plain.worker(1)
    task, heard = uuid.uuid4().hex, [""]
    with Redis.from_url(plain.redis.url) as redis:

        def listen(words: int) -> None:
            with redis.pubsub(ignore_subscribe_messages=True) as channel:
                channel.subscribe(f"answer:{task}")
                until = time.monotonic() + 8
                while heard[0].count("word") < words and time.monotonic() < until:
                    message = channel.get_message(timeout=0.5)
                    heard[0] += message["data"].decode() if message else ""

        watching = threading.Thread(target=listen, args=(10,))
        watching.start()
        wait_until(lambda: redis.pubsub_numsub(f"answer:{task}")[0][1] == 1, "the watcher")
        result = ask(app, "Tell a story.", task_id=task)
        watching.join()
        time.sleep(1)  # the connection is away
        listen(40)
    assert result.get(timeout=PATIENCE) == STORY
    missing = 40 - heard[0].count("word")
    return Outcome(f"{missing} of 40 words never came to who watched; the result is whole", missing)


def cancelled_call(plain: Plain, app: Celery) -> Outcome:
    plain.worker(1)
    result = ask(app, f"Run `cd {plain.folder}; (touch begun; sleep 3; touch finished) | tail`")
    wait_until((plain.folder / "begun").exists, "the command", seconds=PATIENCE)
    result.revoke(terminate=True)
    with contextlib.suppress(AssertionError):
        wait_until((plain.folder / "finished").exists, "its end", seconds=8)
    went_on = (plain.folder / "finished").exists()
    return Outcome("the command went on after revoke(terminate=True)" if went_on else "stopped", int(went_on))


SCENES: Mapping[int, Scene] = {
    1: long_task,
    2: late_acknowledgement,
    3: lost_chord,
    4: memory,
    5: full_backend,
    6: time_limit,
    7: restarted_broker,
    8: two_schedulers,
    9: watched_answer,
    10: cancelled_call,
}
