"""Files in chats: what becomes of photos, albums and documents, and what their sender is told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_jobs.features.gateway import service
from hermes_jobs.features.telegram import platform
from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.features.attachments.files import document, picture
from tests.gateway.bot_server import BotServer, Fault, quick_bot
from tests.gateway.serving import ANNA, Served, environ_of, serving
from tests.model_server import ModelServer
from tests.tools.support import wait_until

PICTURE = picture()
MEGABYTE = 1_000_000


@pytest.fixture
def bot(monkeypatch: pytest.MonkeyPatch) -> Any:
    with quick_bot(monkeypatch) as server:
        yield server


@pytest.fixture
def environ(tmp_path: Path, bot: BotServer, model_server: ModelServer) -> Mapping[str, str]:
    return environ_of(tmp_path, bot, model_server.base_url)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(platform, "ALBUM_SECONDS", 0.2)


def turns(served: Served) -> list[e.TurnSubmitted]:
    return [fact for fact in facts_of(served.application.log) if isinstance(fact, e.TurnSubmitted)]


def told(bot: BotServer, count: int = 1, chat: int = ANNA) -> list[str]:
    bot.wait_until(lambda: len(bot.said(chat)) >= count, f"{count} answers")
    return bot.said(chat)


def names(turn: e.TurnSubmitted) -> list[str]:
    return [each.file_name for each in turn.attachments]


def test_the_largest_size_of_a_photo_goes_with_its_caption(
    environ: Mapping[str, str], bot: BotServer, model_server: ModelServer
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "What is it?", media=bot.photo(PICTURE))
        told(bot)
        (turn,) = turns(served)
    (attachment,) = turn.attachments
    assert turn.text == "What is it?"
    assert (attachment.size, attachment.media_type) == (len(PICTURE), "image/png")
    assert "image_url" in str(model_server.requests[0].body)


def test_an_album_is_one_turn_whatever_stands_between_its_parts(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    for number in range(3):
        caption = "Compare these." if number == 1 else None
        bot.write(ANNA, caption, media=bot.photo(PICTURE, media_group_id="7"))
        if not number:
            bot.write(ANNA, "Hello")
    with serving(environ) as served:
        told(bot, 2)
        bot.wait_until(lambda: bot.unconfirmed() == 0, "Telegram's giving up of the messages")
        album, hello = turns(served)
    assert (album.text, len(album.attachments)) == ("Compare these.", 3)
    assert (hello.text, hello.attachments) == ("Hello", ())


def test_a_part_that_comes_when_its_album_is_a_turn_is_a_turn_of_its_own(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    bot.fail("getUpdates", Fault(status=500))
    with serving(environ) as served:
        for _ in range(2):
            bot.write(ANNA, None, media=bot.photo(PICTURE, media_group_id="7"))
        told(bot)
        bot.write(ANNA, "The last", media=bot.photo(PICTURE, media_group_id="7"))
        told(bot, 2)
        assert [len(turn.attachments) for turn in turns(served)] == [2, 1]
        assert turns(served)[1].text == "The last"


def test_documents_go_beside_the_text_and_text_files_into_it(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ) as served:
        bot.write(ANNA, "Read it.", media=bot.document(document(["One", "Two"]), "paper.pdf"))
        bot.write(ANNA, "And this.", media=bot.document("Grüße\n".encode(), "../notes.txt"))
        bot.write(ANNA, None, media=bot.document(PICTURE, "plot.png"))
        told(bot, 3)
        paper, notes, plot = turns(served)
    assert (names(paper), paper.attachments[0].pages) == (["paper.pdf"], 2)
    assert notes.text == "And this.\n\nnotes.txt:\n```\nGrüße\n```"
    assert (plot.text, names(plot)) == ("[plot.png]", ["plot.png"])


def test_19_megabytes_are_taken_and_21_are_refused_before_they_are_downloaded(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    padded = PICTURE + bytes(19 * MEGABYTE - len(PICTURE))
    with serving(environ) as served:
        bot.write(ANNA, "19", media=bot.document(padded, "19.png"))
        told(bot)
        bot.write(ANNA, "21", media=bot.document(bytes(21 * MEGABYTE), "21.pdf"))
        _, note = told(bot, 2)
        assert [names(turn) for turn in turns(served)] == [["19.png"]]
    assert "21.pdf has 21.0 MB; a file may have 20.0 MB." in note
    assert bot.count("getFile") == 1


def test_a_limit_above_telegrams_does_not_help(environ: Mapping[str, str], bot: BotServer) -> None:
    larger = {"HERMES_JOBS_ATTACHMENTS__FILE_MB": "50"}
    with serving({**environ, **larger}):
        bot.write(ANNA, None, media=bot.document(bytes(21 * MEGABYTE), "21.pdf"))
        (note,) = told(bot)
    assert "bots get files of up to 20 MB" in note


def test_one_file_that_cannot_be_sent_refuses_its_album_as_a_whole(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    with serving(environ) as served:
        for content, name in ((PICTURE, "plot.png"), (b"PK\x03\x04\0", "letter.docx")):
            bot.write(ANNA, None, media=bot.document(content, name, media_group_id="7"))
        (note,) = told(bot)
        assert turns(served) == []
    assert "letter.docx is damaged" in note
    assert "Nothing of the message was read." in note


@pytest.mark.parametrize(
    ("kind", "words"),
    [("sticker", "stickers"), ("voice", "voice messages"), ("video", "videos"), ("location", "this kind")],
)
def test_what_cannot_be_read_is_answered_with_a_note(
    environ: Mapping[str, str], bot: BotServer, kind: str, words: str
) -> None:
    shape = {"width": 1, "height": 1, "duration": 1, "is_animated": False, "is_video": False}
    about = bot.uploaded(b"bytes", **shape, type="regular") | {"longitude": 1.0, "latitude": 2.0}
    with serving(environ) as served:
        bot.write(ANNA, None, media={kind: about})
        (note,) = told(bot)
        assert turns(served) == []
    assert words in note
    assert bot.count("getFile") == 0


def test_a_download_is_tried_again_and_then_its_sender_is_told(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    bot.fail("download", Fault(cut="before"), Fault(status=404))
    with serving(environ) as served:
        bot.write(ANNA, "One", media=bot.photo(PICTURE))
        told(bot)
        bot.fail("getFile", *[Fault(status=502) for _ in range(service.TRIES)])
        bot.write(ANNA, "Two", media=bot.photo(PICTURE))
        bot.write(ANNA, "Three")
        _, note, answer = told(bot, 3)
        assert [turn.text for turn in turns(served)] == ["One", "Three"]
    assert "could not be downloaded" in note
    assert answer == "You said: Three"


def test_a_stranger_downloads_nothing(environ: Mapping[str, str], bot: BotServer) -> None:
    with serving(environ) as served:
        bot.write(99, None, media=bot.photo(PICTURE))
        bot.wait_until(lambda: bot.unconfirmed() == 0, "Telegram's giving up of the message")
        assert turns(served) == []
    assert bot.count("getFile") == 0


def test_in_a_group_an_album_is_meant_where_one_of_its_captions_names_the_bot(
    environ: Mapping[str, str], bot: BotServer
) -> None:
    group = {"kind": "supergroup", "chat": -1001}
    with serving(environ) as served:
        bot.write(ANNA, None, media=bot.photo(PICTURE), **group)  # type: ignore[arg-type]
        bot.write(ANNA, "@hermes_test_bot look", media=bot.photo(PICTURE, media_group_id="8"), **group)  # type: ignore[arg-type]
        bot.write(ANNA, None, media=bot.photo(PICTURE, media_group_id="8"), **group)  # type: ignore[arg-type]
        wait_until(lambda: bool(turns(served)), "the turn")
        bot.wait_until(lambda: bot.unconfirmed() == 0, "Telegram's giving up of the messages")
        (turn,) = turns(served)
    assert (turn.text, len(turn.attachments)) == ("look", 2)
