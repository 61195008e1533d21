"""`kill -9` of a gateway, at every append and every question to Telegram: nothing is lost or doubled.

Each moment is tried at every third append, `FAULTS=full` tries all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.gateway import events as gateway_events
from hermes_jobs.features.telegram import pace, platform
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.settings import load
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.faults.dying import KILLED, MOMENTS, SAMPLED_MOMENTS, Moment, die_at
from tests.features.attachments.files import picture
from tests.gateway.bot_server import QUICK, BotServer, Fault
from tests.gateway.serving import ANNA, environ_of, serving
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer
from tests.tools.support import wait_until

PATIENCE = 120.0
PRELOADED = [
    "hermes_jobs.features.telegram.api",
    "hermes_jobs.features.telegram.platform",
    "hermes_jobs.llm.completions_client",
]
STEP = 1 if os.environ.get("FAULTS") == "full" else 3
NEVER = 10_000  # more appends than anything here has


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    monkeypatch.setattr(pace, "SECOND", QUICK)
    server = BotServer(QUICK).start()
    yield server
    server.close()


@pytest.fixture
def environ(tmp_path: Path, bot: BotServer, model_server: ModelServer) -> Mapping[str, str]:
    return environ_of(tmp_path, bot, model_server.base_url)


class Gateway:
    """`hermes-jobs run gateway telegram` in a process that may be told to kill itself at an append."""

    def __init__(self, environ: Mapping[str, str], at: int, moment: Moment) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*PRELOADED, "hermes_jobs.runtime.inline_worker", __name__])
        self.process = context.Process(target=_listen, args=(dict(environ), at, moment))
        self.process.start()

    @property
    def pid(self) -> int:
        pid = self.process.pid
        assert pid is not None
        return pid

    def is_over(self) -> bool:
        return self.process.exitcode is not None

    def end(self) -> int:
        """Ask it to end, unless it has; its exit code, -9 where it was killed."""
        if not self.is_over():
            self.process.terminate()
        self.process.join(PATIENCE)
        code = self.process.exitcode
        assert code is not None, "it did not end"
        return code


def _listen(environ: Mapping[str, str], at: int, moment: Moment) -> None:
    from hermes_jobs.interfaces.cli import main

    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.environ.clear()
    os.environ.update(environ)
    pace.SECOND = QUICK
    platform.ALBUM_SECONDS = QUICK
    die_at(at, moment)
    main(["gateway", "telegram"])


@contextmanager
def gateway(environ: Mapping[str, str], at: int = NEVER, moment: Moment = "before") -> Iterator[Gateway]:
    started = Gateway(environ, at, moment)
    try:
        yield started
    finally:
        started.process.kill()
        started.process.join()


def answered(bot: BotServer, tags: list[str]) -> bool:
    """Whether every message has its answer, and none has two."""
    said = [text for text in bot.said(ANNA) if text != "I stop."]
    assert len(said) == len(set(said)), "an answer arrived twice"
    said_tags = (text.rpartition(":")[2].strip() for text in said)  # behind the names of pictures
    return sorted(said_tags) == sorted(tags)


def others_finish(environ: Mapping[str, str], bot: BotServer, tags: list[str]) -> None:
    """Another gateway continues until nothing is left to do."""
    with serving(environ) as served:
        log = served.application.log
        bot.wait_until(lambda: bot.unconfirmed() == 0, "Telegram's giving up of the messages")
        wait_until(lambda: answered(bot, tags) and not log.steps(), f"answers to {tags}")


def assert_heard_once(log: EventLog, tags: list[str]) -> None:
    submitted = [fact.text for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
    assert sorted(submitted) == sorted(tags)


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_message_survives_a_kill_at_every_append_from_its_hearing_to_its_answer(
    environ: Mapping[str, str], bot: BotServer, moment: Moment
) -> None:
    tags: list[str] = []
    code, at = KILLED, 1 + MOMENTS.index(moment) - STEP
    while code == KILLED:
        at += STEP
        tags.append(f"{moment}-{at}")
        bot.write(ANNA, tags[-1])
        with gateway(environ, at, moment) as dying:
            wait_until(lambda: dying.is_over() or answered(bot, tags), "its death, or its answer")
            code = dying.end()
        others_finish(environ, bot, tags)
    assert at > 10, "a message has more appends than that"
    with serving(environ) as served:
        assert_heard_once(served.application.log, tags)
        assert_all_is_done_once(served.application.log, [])
    strays = sum(text == "…" for text in bot.chats[ANNA].values())
    assert strays <= 2, "a death leaves a placeholder at one point alone"


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("method", ["getUpdates", "sendMessage", "editMessageText"])
def test_a_message_survives_a_kill_in_the_middle_of_every_question(
    environ: Mapping[str, str], bot: BotServer, method: str, cut: Literal["before", "after"]
) -> None:
    tags = [f"{method}-{cut}-{number}" for number in range(3)]
    with gateway(environ) as dying:
        bot.wait_until(lambda: bot.count("getUpdates") >= 1, "its listening")
        kill = Fault(cut=cut, act=lambda: os.kill(dying.pid, signal.SIGKILL))
        bot.fail(method, kill)  # of `getUpdates`, the one that gives up the first message
        for tag in tags:
            bot.write(ANNA, tag)
        wait_until(dying.is_over, "its death")
    others_finish(environ, bot, tags)
    with serving(environ) as served:
        assert_heard_once(served.application.log, tags)
        assert_all_is_done_once(served.application.log, [])


@pytest.mark.skipif(STEP > 1, reason="made by `make faults`: it freezes a process past its lease")
@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_gateway_frozen_past_its_lease_finds_another_in_its_place_and_nothing_is_doubled(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    short = {**environ, "HERMES_JOBS_WORKERS__LEASE_SECONDS": "2"}
    with gateway(short) as frozen:
        bot.write(ANNA, "one")
        wait_until(lambda: answered(bot, ["one"]), "the first answer")
        with closing(Application(load(short), short)) as application:
            wait_until(lambda: not application.log.steps(), "the end of the first turn's work")
        os.kill(frozen.pid, signal.SIGSTOP)  # idle: stopped in a write, it would keep the lock
        bot.write(ANNA, "two")
        with serving(short) as served:
            wait_until(lambda: answered(bot, ["one", "two"]), "the second answer, by another gateway")
            os.kill(frozen.pid, signal.SIGCONT)
            bot.write(ANNA, "three")
            wait_until(lambda: answered(bot, ["one", "two", "three"]), "the third answer")
            log = served.application.log
            wait_until(lambda: not log.steps(), "the end of all work")
            taken = [fact for fact in facts_of(log) if isinstance(fact, gateway_events.GatewayTaken)]
            assert len({fact.worker for fact in taken}) == 2
            assert_heard_once(log, ["one", "two", "three"])
        assert frozen.end() == 0


def pressable(bot: BotServer) -> list[int]:
    """The messages with a question's buttons."""
    boards = [(number, buttons) for (_, number), buttons in bot.keyboards.items()]
    return [number for number, buttons in boards if any(data.startswith("ask:") for _, data in buttons)]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("moment", SAMPLED_MOMENTS)
def test_a_question_survives_a_kill_at_every_append_until_it_is_answered_once(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer, tmp_path: Path, moment: Moment
) -> None:
    clean = AskedCall("terminal", {"command": "rm -r build"})
    model_server.follow(
        Script(rules=(Rule("Clean", (Answer(tool_calls=(clean,)), Answer(text="Cleaned."))),))
    )
    asking = {**environ, "HERMES_JOBS_AGENT__WORKDIR": str(tmp_path)}
    code, at, turns = KILLED, 1 + MOMENTS.index(moment) - STEP, 0
    while code == KILLED:
        at, turns = at + STEP, turns + 1
        (tmp_path / "build").mkdir(exist_ok=True)
        bot.write(ANNA, f"Clean up {turns}")
        with gateway(asking, at, moment) as dying:
            press_when_asked(bot, dying, turns)
            code = dying.end()
        others_answer(asking, bot, turns)
    with serving(asking) as served:
        given = [fact for fact in facts_of(served.application.log) if isinstance(fact, e.ApprovalGiven)]
        assert len(given) == turns
    assert pressable(bot) == []
    assert sum("rm -r build" in said for said in bot.said(ANNA)) == turns


def others_answer(environ: Mapping[str, str], bot: BotServer, turns: int) -> None:
    """Another gateway shows what is open; it is answered, and the turn ends."""
    with serving(environ) as served:
        log = served.application.log
        wait_until(lambda: bool(pressable(bot)) or ended(bot, turns), "the question, or its end")
        if pressable(bot):
            press_first(bot)
        wait_until(lambda: ended(bot, turns) and not log.steps(), "the answer")


def ended(bot: BotServer, turns: int) -> bool:
    return bot.said(ANNA).count("Cleaned.") == turns


def press_when_asked(bot: BotServer, dying: Gateway, turns: int) -> None:
    wait_until(lambda: dying.is_over() or bool(pressable(bot)), "its death, or its question")
    if pressable(bot):
        press_first(bot)
        wait_until(lambda: dying.is_over() or ended(bot, turns), "its death, or its answer")


def press_first(bot: BotServer) -> None:
    number = pressable(bot)[0]
    bot.press(ANNA, "✅ Once", bot.chats[ANNA][number])


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_an_answer_that_is_shown_half_when_its_gateway_is_killed_arrives_whole_and_once(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    half = Hold(first="You said: ", answer=Answer(text="one"))
    model_server.follow(Script(sequence=(half,)))
    with gateway(environ) as dying:
        bot.write(ANNA, "one")
        bot.wait_until(lambda: bot.drafts == [(ANNA, "You said:")], "the draft")
        os.kill(dying.pid, signal.SIGKILL)
        wait_until(dying.is_over, "its death")
    others_finish(environ, bot, ["one"])
    with serving(environ) as served:
        assert_heard_once(served.application.log, ["one"])
        assert_all_is_done_once(served.application.log, [])


def write_album(bot: BotServer, tag: str) -> None:
    """Somebody sends two pictures as an album, of which the second has the caption."""
    for caption in (None, tag):
        bot.write(ANNA, caption, media=bot.photo(picture(), media_group_id=tag))


def assert_albums_heard_once(environ: Mapping[str, str], tags: list[str]) -> None:
    with serving(environ) as served:
        log = served.application.log
        assert_heard_once(log, tags)
        submitted = [fact for fact in facts_of(log) if isinstance(fact, e.TurnSubmitted)]
        assert [len(fact.attachments) for fact in submitted] == [2] * len(tags)
        assert_all_is_done_once(log, [])
        blobs = served.application.blobs
        assert all(blobs.get(digest) for fact in submitted for digest in fact.attachments[0].digests)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("moment", SAMPLED_MOMENTS)
def test_an_album_survives_a_kill_at_every_append_from_its_hearing_to_its_answer(
    environ: Mapping[str, str], bot: BotServer, moment: Moment
) -> None:
    tags: list[str] = []
    code, at = KILLED, 1 + MOMENTS.index(moment) - STEP
    while code == KILLED:
        at += STEP
        tags.append(f"{moment}-{at}")
        write_album(bot, tags[-1])
        with gateway(environ, at, moment) as dying:
            wait_until(lambda: dying.is_over() or answered(bot, tags), "its death, or its answer")
            code = dying.end()
        others_finish(environ, bot, tags)
    assert_albums_heard_once(environ, tags)


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("cut", ["before", "after"])
@pytest.mark.parametrize("method", ["getUpdates", "getFile", "download"])
def test_an_album_survives_a_kill_between_its_parts_and_at_every_download(
    environ: Mapping[str, str], bot: BotServer, method: str, cut: Literal["before", "after"]
) -> None:
    tags = [f"{method}-{cut}-{number}" for number in range(2)]
    with gateway(environ) as dying:
        bot.wait_until(lambda: bot.count("getUpdates") >= 1, "its listening")
        bot.fail(method, Fault(cut=cut, act=lambda: os.kill(dying.pid, signal.SIGKILL)))
        for tag in tags:
            write_album(bot, tag)
        wait_until(dying.is_over, "its death")
    others_finish(environ, bot, tags)
    assert_albums_heard_once(environ, tags)
