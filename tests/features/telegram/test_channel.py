"""An answer in a chat: a placeholder, then the text in its place; once, whole, in order, whatever fails."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from random import Random

import pytest

from hermes_jobs.features.deliveries.channel import Delivered, DeliveryError, PlaceholderSent
from hermes_jobs.features.deliveries.events import DeliveryEvent, DeliveryPlaced
from hermes_jobs.features.deliveries.rules import Delivery, evolve, next_steps
from hermes_jobs.features.deliveries.steps import SendDelivery
from hermes_jobs.features.schedules import events as schedules_events
from hermes_jobs.features.schedules.rules import schedule as schedules
from hermes_jobs.features.telegram.bot import bot_id_of
from hermes_jobs.features.telegram.channel import TelegramChannel
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.engine.ports import StepInterrupted
from hermes_jobs.kernel.streams.decision import StateLoader
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.system.ids import RandomIds
from tests.features.deliveries.letters import NOON, asked_for
from tests.gateway.bot_server import TOKEN, BotServer, Fault, quick_bot
from tests.manual_clock import ManualClock
from tests.tools.support import Switch

CHAT = 12
LONG = "\n\n".join(f"Paragraph {number}: " + "wörter 😀 " * 90 for number in range(20)).strip()


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Iterator[BotServer]:
    with quick_bot(monkeypatch) as server:
        yield server


@pytest.fixture
def courier(bot: BotServer) -> TelegramChannel:
    return TelegramChannel(TOKEN, bot.base_url)


def nothing_loaded(stream: str) -> object:
    raise AssertionError(stream)


def one_act(courier: TelegramChannel, state: Delivery, clock: ManualClock) -> Delivery:
    """What a worker does with the step that is due: the delivery after what it writes."""
    job = SendDelivery(lambda kind: courier, clock=clock, ids=RandomIds())
    (step,) = next_steps(state)
    load: StateLoader = nothing_loaded
    (write,) = job.run(state, step, Switch())(load).writes
    (fact,) = write.events
    assert isinstance(fact, DeliveryEvent)
    return evolve(state, fact)


def carried_out(courier: TelegramChannel, state: Delivery) -> Delivery:
    """Every act until there is none left, each at its time."""
    clock = ManualClock(NOON)
    while next_steps(state):
        clock.moment = max(clock.moment, state.retry_at)
        state = one_act(courier, state, clock)
    return state


def test_an_answer_replaces_its_placeholder(bot: BotServer, courier: TelegramChannel) -> None:
    state = carried_out(courier, asked_for(f"telegram:{CHAT}", "Good morning."))
    assert (state.status, state.placements) == ("sent", 1)
    assert list(bot.history.values()) == [["…", "Good morning."]]


def test_a_long_answer_arrives_whole_and_in_order(bot: BotServer, courier: TelegramChannel) -> None:
    state = carried_out(courier, asked_for(f"telegram:{CHAT}", LONG))
    said = bot.said(CHAT)
    assert len(said) == state.placements > 4
    assert "\n\n".join(said).split() == LONG.split()
    assert [part.split(":")[0] for part in said] == sorted(
        (part.split(":")[0] for part in said), key=lambda head: int(head.split()[1])
    )


def test_an_answer_keeps_its_styles_and_long_code_is_a_file(bot: BotServer, courier: TelegramChannel) -> None:
    code = "print('😀')\n" * 500
    state = carried_out(
        courier, asked_for(f"telegram:{CHAT}", f"**Done**: see 😀 `a.py`\n\n```python\n{code}```")
    )
    assert state.status == "sent"
    first, second = sorted(bot.chats[CHAT])
    assert bot.said(CHAT) == ["Done: see 😀 a.py", "📎 code.py"]
    assert [(each["type"], each["offset"], each["length"]) for each in bot.entities[CHAT, first]] == [
        ("bold", 0, 4),
        ("code", 13, 4),
    ]
    assert bot.files[CHAT, second] == ("code.py", code)


def test_the_gateways_own_words_are_plain_text(bot: BotServer, courier: TelegramChannel) -> None:
    carried_out(courier, asked_for(f"telegram:{CHAT}", "I am at: *look*", turn=None))
    assert bot.said(CHAT) == ["I am at: *look*"]


def test_no_repetition_arrives_twice(bot: BotServer, courier: TelegramChannel) -> None:
    """A worker that dies after an act leaves the step to another, which does it again."""
    state, clock = asked_for(f"telegram:{CHAT}", LONG), ManualClock(NOON)
    while next_steps(state):
        one_act(courier, state, clock)
        state = one_act(courier, state, clock)
    assert "\n\n".join(bot.said(CHAT)).split() == LONG.split()


def test_files_follow_the_text_each_once_and_those_that_cannot_be_sent_are_named(bot: BotServer) -> None:
    file = partial(Attachment, media_type="image/png", size=9, width=40, height=20)
    files = (
        file(digest="a", file_name="plot.png", sent="s"),
        file(digest="a", file_name="long.png", sent="s", height=1_000),
        file(digest="a", file_name="big.zip", size=50_000_001),
        file(digest="", file_name="gone.txt"),
    )
    stored = {"a": b"\x89PNG whole", "s": b"\xff\xd8 sent"}
    courier = TelegramChannel(TOKEN, bot.base_url, stored.get)
    bot.fail("editMessageMedia", Fault(cut="after"), Fault(status=502, description="Bad Gateway"))
    state, clock = asked_for(f"telegram:{CHAT}", "Done.", attachments=files), ManualClock(NOON)
    while next_steps(state):  # each act is done twice, as after the death of a worker
        clock.moment = max(clock.moment, state.retry_at)
        one_act(courier, state, clock)
        state = one_act(courier, state, clock)
    said = [text for text in bot.said(CHAT) if text != "…"]
    assert said[:3] == ["Done.", "🖼 plot.png", "📎 long.png"]
    assert ["larger than Telegram takes" in said[3], "not stored any more" in said[4]] == [True, True]
    assert [content.encode(errors="surrogateescape") for _, content in bot.files.values()] == [
        stored["s"],
        stored["a"],
    ]


@pytest.mark.parametrize("seed", range(3))
def test_it_arrives_once_through_every_kind_of_fault(
    bot: BotServer, courier: TelegramChannel, seed: int
) -> None:
    random = Random(seed)
    faults = (
        Fault(status=429, retry_after=3, description="Too Many Requests: retry after 3"),
        Fault(status=429, description="Too Many Requests"),
        Fault(status=500, description="Internal Server Error"),
        Fault(status=502, description="Bad Gateway"),
        Fault(cut="before"),
        Fault(cut="after"),
    )
    for method in ("sendMessage", "editMessageText"):
        bot.fail(method, *random.choices(faults, k=8))
    state = carried_out(courier, asked_for(f"telegram:{CHAT}", LONG))
    assert state.status == "sent"
    assert "\n\n".join(bot.said(CHAT)).split() == LONG.split()


def test_telegram_is_left_alone_for_as_long_as_it_asks(bot: BotServer, courier: TelegramChannel) -> None:
    bot.fail("sendMessage", Fault(status=429, retry_after=77))
    clock = ManualClock(NOON)
    state = one_act(courier, asked_for(f"telegram:{CHAT}"), clock)
    assert (state.status, state.retry_at) == ("waiting", clock.moment + 77)
    assert "77 s" in state.message


def test_a_placeholder_that_was_deleted_is_placed_anew(bot: BotServer, courier: TelegramChannel) -> None:
    clock = ManualClock(NOON)
    state = one_act(courier, asked_for(f"telegram:{CHAT}", "Good morning."), clock)
    bot.delete(CHAT, "…")
    state = carried_out(courier, state)
    assert (state.status, state.placements, bot.said(CHAT)) == ("sent", 2, ["Good morning."])


def test_a_chat_in_which_everything_vanishes_is_given_up(bot: BotServer, courier: TelegramChannel) -> None:
    state, clock = asked_for(f"telegram:{CHAT}"), ManualClock(NOON)
    while next_steps(state):
        state = one_act(courier, state, clock)
        bot.chats[CHAT].clear()
    assert state.status == "failed"
    assert "vanish" in state.message
    assert bot.count("sendMessage") < 10


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=403, description="Forbidden: bot was blocked by the user"),
        Fault(status=400, description="Bad Request: chat not found"),
    ],
)
def test_a_chat_that_will_not_have_it_is_not_asked_again(
    bot: BotServer, courier: TelegramChannel, fault: Fault
) -> None:
    bot.fail("sendMessage", fault)
    state = carried_out(courier, asked_for(f"telegram:{CHAT}"))
    assert state.status == "failed"
    assert fault.description.partition(": ")[2] in state.message.replace("Chat", "chat")
    assert bot.count("sendMessage") == 1


@pytest.mark.parametrize("token", [None, "4242:another-token-that-is-wrong"])
def test_a_missing_or_refused_token_may_be_mended(bot: BotServer, token: str | None) -> None:
    with pytest.raises(DeliveryError) as refused:
        TelegramChannel(token, bot.base_url).deliver(asked_for(f"telegram:{CHAT}"), str(CHAT), Switch())
    assert not refused.value.lasting
    assert "TELEGRAM_BOT_TOKEN" in refused.value.message
    assert token is None or token not in refused.value.message


def test_an_empty_answer_is_marked_as_such(bot: BotServer, courier: TelegramChannel) -> None:
    carried_out(courier, asked_for(f"telegram:{CHAT}", " \n "))
    assert bot.said(CHAT) == ["(an answer without words)"]


def test_an_answer_that_looks_like_a_placeholder_arrives(bot: BotServer, courier: TelegramChannel) -> None:
    state = carried_out(courier, asked_for(f"telegram:{CHAT}", "…"))
    assert state.status == "sent"
    assert list(bot.chats[CHAT].values()) == ["…"]


def test_one_act_is_one_request_or_two(bot: BotServer, courier: TelegramChannel) -> None:
    letter = asked_for(f"telegram:{CHAT}")
    placed = courier.deliver(letter, str(CHAT), Switch())
    assert isinstance(placed, PlaceholderSent)
    letter = evolve(letter, DeliveryPlaced(delivery=letter.id, part=placed.part, receipt=placed.receipt))
    assert courier.deliver(letter, str(CHAT), Switch()) == Delivered(placed.receipt)
    assert [call.method for call in bot.calls] == ["sendMessage", "editMessageText"]


def test_a_worker_that_leaves_does_not_wait_for_telegram(bot: BotServer, courier: TelegramChannel) -> None:
    leaving, over = Switch(), threading.Event()

    def leave() -> None:
        leaving.fire("shutdown")
        over.wait(30)

    bot.fail("sendMessage", Fault(cut="before", act=leave))
    with pytest.raises(StepInterrupted):
        courier.deliver(asked_for(f"telegram:{CHAT}"), str(CHAT), leaving)
    over.set()


@pytest.mark.parametrize(
    ("token", "bot_id"), [(TOKEN, "4242"), ("", None), ("nonsense", None), ("12:short", None)]
)
def test_a_token_names_its_bot(token: str, bot_id: str | None) -> None:
    assert bot_id_of(token) == bot_id


GROUP, SUPERGROUP = -12, -1_000_000_000_012
UPGRADED = Fault(
    status=400, description="Bad Request: group chat was upgraded to a supergroup chat", moved_to=SUPERGROUP
)


@pytest.mark.parametrize("method", ["sendMessage", "editMessageText"])
def test_a_group_that_became_a_supergroup_gets_its_answer_there_and_so_do_later_ones_of_the_schedule(
    bot: BotServer, courier: TelegramChannel, method: str
) -> None:
    plan = schedules_events.Plan(
        name="n",
        kind="cron",
        timing="0 9 * * *",
        timezone="UTC",
        text="x",
        deliver=(f"telegram:{GROUP}", "cli"),
    )
    added = schedules_events.ScheduleAdded(schedule="h1", plan=plan, by="user", next_due=NOON)
    schedule = schedules.evolve(schedules.Schedule(stream="schedule-h1"), added)
    bot.fail(method, UPGRADED)
    job = SendDelivery(lambda kind: courier, clock=ManualClock(NOON), ids=RandomIds())
    state = asked_for(f"telegram:{GROUP}", "Good morning.")
    edited: list[e.Event] = []
    while steps := next_steps(state):
        for write in job.run(state, steps[0], Switch())(
            lambda stream: {"schedule-h1": schedule}[stream]
        ).writes:
            for event in write.events:
                if isinstance(event, DeliveryEvent):
                    state = evolve(state, event)
                else:
                    edited.append(event)

    assert state.status == "sent"
    assert bot.said(SUPERGROUP) == ["Good morning."]
    (edit,) = edited
    assert isinstance(edit, schedules_events.ScheduleEdited)
    assert edit.plan.deliver == (f"telegram:{SUPERGROUP}", "cli")
    assert (edit.next_due, edit.by) == (NOON, f"delivery:{state.id}")


def test_many_answers_at_once_wait_in_line_and_none_is_lost(bot: BotServer, courier: TelegramChannel) -> None:
    clock = ManualClock(NOON)
    waiting = [asked_for(f"telegram:{CHAT}", f"Answer {number}", name=f"d{number}") for number in range(60)]
    with ThreadPoolExecutor(20) as pool:
        while waiting:
            done = pool.map(lambda state: one_act(courier, state, clock), waiting)
            waiting = [state for state in done if next_steps(state)]
            assert all(state.failures == 0 for state in waiting)
    assert sorted(bot.said(CHAT)) == sorted(f"Answer {number}" for number in range(60))
