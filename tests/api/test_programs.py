"""The official client of OpenAI, and what Open WebUI sends, against a real `up`."""

from __future__ import annotations

import base64
import io
import threading
from typing import Any

import openai
import pytest

from tests.api.door import LONG, LOOKED, TITLE, Door
from tests.tools.support import wait_until

pytestmark = pytest.mark.slow


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def ask(door: Door, *messages: Any, **options: Any) -> Any:
    return door.openai.chat.completions.create(model="hermes-jobs", messages=[*messages], **options)


def session_of(answer: Any) -> str:
    return str(answer.hermes["session"])


def streamed(door: Door, *messages: Any, **options: Any) -> tuple[str, list[Any]]:
    chunks = list(ask(door, *messages, stream=True, **options))
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), chunks


def test_the_models_are_listed_and_others_are_refused(door: Door) -> None:
    assert [model.id for model in door.openai.models.list()] == ["hermes-jobs", "scripted"]
    with pytest.raises(openai.NotFoundError, match="gpt-4o"):
        door.openai.chat.completions.create(model="gpt-4o", messages=[user("Hi")])


def test_a_conversation_is_one_session_and_an_edited_one_a_fork(door: Door) -> None:
    first = ask(door, user("Hello"))
    assert first.choices[0].message.content == "Yes."
    assert first.usage.total_tokens == first.usage.prompt_tokens + first.usage.completion_tokens > 0
    second = ask(door, user("Hello"), assistant("Yes."), user("Look"))
    assert second.choices[0].message.content == LOOKED[1]
    assert session_of(second) == session_of(first)

    together = "\n\n".join(LOOKED)
    for shown in (together, LOOKED[1]):  # as it was streamed, or as it was answered
        third = ask(door, user("Hello"), assistant("Yes."), user("Look"), assistant(shown), user("And?"))
        assert door.home.run("sessions", "show", session_of(third), "--json").json["messages"]
    edited = ask(door, user("Hello"), assistant("Yes."), user("Something else"))
    assert session_of(edited) != session_of(first)
    sent = [message["content"] for message in door.model.requests[-1].body["messages"]]
    assert sent[-3:] == ["Hello", "Yes.", "Something else"]


def test_a_conversation_from_elsewhere_begins_a_session_that_goes_on(door: Door) -> None:
    elsewhere = (user("Do you know me?"), assistant("You are Anna."), user("And now?"))
    first = ask(door, *elsewhere)
    assert "You are Anna." in door.model.requests[-1].body["messages"][0]["content"]
    second = ask(door, *elsewhere, assistant("Yes."), user("Still?"))
    assert session_of(second) == session_of(first)


def test_a_session_is_chosen_by_header_and_by_user(door: Door) -> None:
    named = [ask(door, user("Hi"), extra_headers={"X-Hermes-Session": "Project"}) for _ in range(2)]
    assert len({session_of(answer) for answer in named}) == 1
    of_user = [ask(door, user("Hi"), user="anna") for _ in range(2)]
    assert len({session_of(answer) for answer in (*named, *of_user)}) == 2


def test_a_stream_brings_the_text_as_it_is_written_then_calls_and_usage(door: Door) -> None:
    text, chunks = streamed(door, user("Long"), stream_options={"include_usage": True})
    assert text == LONG
    assert len([chunk for chunk in chunks if chunk.choices]) > 5
    assert chunks[-1].usage.total_tokens > 0
    text, chunks = streamed(door, user("Look at this"))
    assert text == "\n\n".join(LOOKED)
    assert [part["tool"] for chunk in chunks if "tool" in (part := getattr(chunk, "hermes", None) or {})] == [
        "todo"
    ]


def test_a_response_in_the_background_is_read_cancelled_and_continued(door: Door) -> None:
    client = door.openai
    begun = client.responses.create(model="hermes-jobs", input="Hold two", background=True)
    assert begun.status in {"queued", "in_progress"}
    wait_until(lambda: client.responses.retrieve(begun.id).status == "in_progress", "its begin")
    client.responses.cancel(begun.id)
    wait_until(lambda: client.responses.retrieve(begun.id).status == "cancelled", "its end")

    first = client.responses.create(model="hermes-jobs", input="One", instructions="Be brief.")
    assert first.output_text == "Yes."
    second = client.responses.create(model="hermes-jobs", input="Two", previous_response_id=first.id)
    other = client.responses.create(model="hermes-jobs", input="Three", previous_response_id=first.id)
    sessions = [each.hermes["session"] for each in (first, second, other)]
    assert sessions[0] == sessions[1] != sessions[2]
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_nosuch")


def test_a_response_says_later_what_it_was_asked_with_and_is_not_deleted(door: Door) -> None:
    client = door.openai
    first = client.responses.create(model="hermes-jobs", input="One", metadata={"ticket": "7"})
    parts = [{"type": "input_text", "text": "Two"}, {"type": "input_image", "image_url": picture()}]
    second = client.responses.create(
        model="hermes-jobs", input=[user(parts)], previous_response_id=first.id, background=True
    )
    wait_until(lambda: client.responses.retrieve(second.id).status == "completed", "its end")
    for said, previous, background, metadata in (
        (first, None, False, {"ticket": "7"}),
        (client.responses.retrieve(first.id), None, False, {"ticket": "7"}),
        (second, first.id, True, {}),
        (client.responses.retrieve(second.id), first.id, True, {}),
        (client.responses.cancel(second.id), first.id, True, {}),
        (events_of(door, second.id)[-1].response, first.id, True, {}),
    ):
        assert (said.previous_response_id, said.background, said.metadata) == (previous, background, metadata)
    (item,) = client.responses.input_items.list(second.id)
    assert (item.type, item.role, item.content[0].text) == ("message", "user", "Two")
    assert [part.type for part in item.content] == ["input_text", "input_image"]
    with pytest.raises(openai.ConflictError, match=f"sessions delete {first.hermes['session']}"):
        client.responses.delete(first.id)
    assert client.responses.retrieve(first.id).output_text == "Yes."
    with pytest.raises(openai.BadRequestError):
        client.responses.create(model="hermes-jobs", input="One", metadata={"long": "x" * 513})


def events_of(door: Door, response: str, after: int | None = None) -> list[Any]:
    return list(
        door.openai.responses.retrieve(response, stream=True)
        if after is None
        else door.openai.responses.retrieve(response, stream=True, starting_after=after)
    )


def test_a_stream_that_is_cut_anywhere_goes_on_without_loss_or_repetition(door: Door) -> None:
    """Given a turn with a text, a call and another text; and one whose text is still being written."""
    made = door.openai.responses.create(model="hermes-jobs", input="Look", background=True)
    whole = events_of(door, made.id)
    assert [each.type for each in whole][-1] == "response.completed"
    numbers = [each.sequence_number for each in whole]
    assert numbers == sorted(set(numbers))
    for at, number in enumerate(numbers):
        rest = events_of(door, made.id, number)
        assert [each.to_dict() for each in rest] == [each.to_dict() for each in whole[at + 1 :]]

    text = door.openai.responses.create(model="hermes-jobs", input="Long", background=True)
    parts: list[str] = []
    last = -1
    for cut in range(1, 4):  # three times cut, and taken up again
        asked = {"starting_after": last} if parts else {}
        with door.openai.responses.retrieve(text.id, stream=True, **asked) as stream:
            for event in stream:
                last = event.sequence_number
                parts += [event.delta] if event.type == "response.output_text.delta" else []
                if len("".join(parts)) > 60 * cut:
                    break
    parts += [
        each.delta for each in events_of(door, text.id, last) if each.type == "response.output_text.delta"
    ]
    assert "".join(parts) == LONG
    with door.openai.responses.stream(model="hermes-jobs", input="Look") as stream:
        assert [item.type for item in stream.get_final_response().output] == [
            "message",
            "mcp_call",
            "message",
        ]


def test_a_client_asks_its_user_what_the_agent_asks(door: Door) -> None:
    with door.http() as http:
        done = []
        for event in door.openai.responses.create(model="hermes-jobs", input="Clean", stream=True):
            if event.type == "hermes.waiting":
                (call,) = event.waiting
                assert (call["kind"], call["tool"]) == ("approval", "terminal")
                path = f"/api/turns/{call['turn']}"
                assert http.get(f"{path}/waiting").json() == [call]
                refused = http.post(f"{path}/deny", json={"call": call["call"], "reason": "Keep it."})
                assert refused.status_code == 200
            done.append(event.type)
        assert done[-1] == "response.completed"
        assert "hermes.answered" in done

        asked = ask(door, user("Choose"))
        assert asked.hermes["status"] == "waiting"
        (question,) = asked.hermes["waiting"]
        assert [choice["value"] for choice in question["choices"]] == ["red", "blue"]
        path = f"/api/turns/{question['turn']}"
        given = {"call": question["call"], "key": question["key"], "answer": 7}
        assert http.post(f"{path}/answer", json=given).status_code == 400
        assert http.post(f"{path}/answer", json={**given, "answer": 2}).status_code == 200
        wait_until(lambda: http.get(path).json()["status"] == "completed", "its end")
        (recorded,) = [
            each["data"]
            for each in map(_json, door.home.run("log", "events", "--json").out.splitlines())
            if each["type"] == "ApprovalDenied"
        ]
        assert recorded["by"] == "api:prog"


def test_a_client_is_asked_what_a_sub_agent_of_its_turn_asks(door: Door) -> None:
    """Given a sub-agent whose command waits: in a stream of either kind, without one, and read again."""

    def decide(call: Any, what: str) -> None:
        assert (call["kind"], call["tool"]) == ("approval", "terminal")
        assert "rm -r build" in call["arguments"]
        with door.http() as http:
            decided = http.post(f"/api/turns/{call['turn']}/{what}", json={"call": call["call"]})
            assert decided.status_code == 200, decided.text

    kinds, turn = [], ""
    for event in door.openai.responses.create(model="hermes-jobs", input="Delegate", stream=True):
        kinds.append(event.type)
        if event.type == "response.created":
            turn = event.response.hermes["turn"]
        if event.type == "hermes.waiting":
            (call,) = event.waiting
            assert call["turn"] != turn
            with door.http() as http:
                assert http.get(f"/api/turns/{turn}/waiting").json() == [call]
            assert door.openai.responses.retrieve(f"resp_{turn}").hermes["waiting"] == [call]
            decide(call, "approve")
        if event.type == "hermes.answered":
            assert event.allowed
    assert kinds.count("hermes.waiting") == kinds.count("hermes.answered") == 1
    assert kinds[-1] == "response.completed"
    whole = events_of(door, f"resp_{turn}")
    assert [each.type for each in whole if each.type.startswith("hermes.")] == [
        "hermes.waiting",
        "hermes.answered",
    ]
    numbers = [each.sequence_number for each in whole]
    assert numbers == sorted(set(numbers))
    for at, number in enumerate(numbers):
        rest = events_of(door, f"resp_{turn}", number)
        assert [each.to_dict() for each in rest] == [each.to_dict() for each in whole[at + 1 :]]

    answered = []
    for chunk in ask(door, user("Delegate again"), stream=True):
        part = getattr(chunk, "hermes", None) or {}
        for call in part.get("waiting", ()):
            decide(call, "deny")
        answered += [part["ok"]] if "answered" in part else []
    assert answered == [False]

    asked = ask(door, user("Delegate once more"))
    (call,) = asked.hermes["waiting"]
    with door.http(door.add_key("stranger", "--scope", "chat", "--scope", "approve")) as http:
        path = f"/api/turns/{call['turn']}/approve"
        assert http.post(path, json={"call": call["call"]}).status_code == 404
    decide(call, "approve")
    wait_until(
        lambda: door.openai.responses.retrieve(f"resp_{asked.hermes['turn']}").status == "completed",
        "its end",
    )


def _json(line: str) -> Any:
    import json

    return json.loads(line)


def picture() -> str:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def test_pictures_and_files_go_along(door: Door) -> None:
    note = "data:text/plain;base64," + base64.b64encode(b"Green tea.").decode()
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": picture()}},
        {"type": "file", "file": {"file_data": note, "filename": "note.txt"}},
    ]
    ask(door, user(parts))
    sent = str(door.model.requests[-1].body["messages"][-1])
    assert "Green tea." in sent
    assert "image/png" in sent
    other = [
        {"type": "input_text", "text": "And this?"},
        {"type": "input_image", "image_url": picture(), "detail": "auto"},
    ]
    assert door.openai.responses.create(model="hermes-jobs", input=[user(other)]).output_text == "Yes."
    with pytest.raises(openai.BadRequestError, match="nothing is fetched"):
        ask(door, user([{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}]))


def test_open_webui_talks_and_its_background_tasks_disturb_no_session(door: Door) -> None:
    """Its chat is a stream with usage; titles, tags and follow-ups are further requests, with no session."""
    said: list[dict[str, Any]] = [{"role": "system", "content": "Be brief. It is Sunday."}]
    sessions = set()
    for text in ("Good day", "And again"):
        said.append(user(text))
        answer, chunks = streamed(door, *said, stream_options={"include_usage": True})
        said.append(assistant(answer))
        sessions.add(session_of(chunks[0]))
        task = "### Task:\nGenerate a concise title.\n<chat_history>\nUSER: Good day\n</chat_history>"
        titled = ask(door, user(task), max_completion_tokens=1000)
        assert titled.choices[0].message.content == TITLE
    assert len(sessions) == 1
    shown = door.home.run("sessions", "show", sessions.pop(), "--json").json
    assert [each["content"] for each in shown["messages"]] == ["Good day", "Yes.", "And again", "Yes."]


def test_the_same_idempotency_key_joins_the_turn_that_is_under_way(door: Door) -> None:
    options = {"extra_headers": {"Idempotency-Key": "once"}}
    answers: list[Any] = []
    asking = [
        threading.Thread(target=lambda: answers.append(ask(door, user("Hold this"), **options)))
        for _ in range(3)
    ]
    stream = ask(door, user("Hold this"), stream=True, **options)
    read = ""
    for chunk in stream:
        read += chunk.choices[0].delta.content or ""
        if read:
            break
    stream.close()  # the client goes away in the middle
    for thread in asking:
        thread.start()
    door.model.release()
    for thread in asking:
        thread.join(60)
    assert {answer.choices[0].message.content for answer in answers} == {"First. " + LONG}
    assert len({answer.id for answer in answers}) == 1
    with pytest.raises(openai.ConflictError):
        ask(door, user("Another text"), **options)
