"""`turns show`: what was sent to the model, as the model's server saw it, and what tools answered."""

from __future__ import annotations

from tests.home import Home
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

LINES = "\n".join(f"line {number}" for number in range(1, 31))
COUNT = AskedCall(name="terminal", arguments={"command": "seq -f 'line %.0f' 30"}, id="call_a")
MISSING = AskedCall(name="read_file", arguments={"path": "nowhere.txt"}, id="call_b")


def worked(home: Home, model_server: ModelServer) -> str:
    """A turn with a round of two calls, after another turn; its id."""
    model_server.follow(
        [
            Answer(text="Hello."),
            Answer(text="I look.", tool_calls=(COUNT, MISSING)),
            Answer(text="Thirty lines."),
        ]
    )
    home.send("Hi")
    turn: str = home.send("-c", "Count the lines")["turn"]
    return turn


def test_the_prompt_is_the_request_that_the_server_got(home: Home, model_server: ModelServer) -> None:
    turn = worked(home, model_server)
    for number, (given, seen) in enumerate(
        zip((f"{turn}-1", turn), model_server.requests[1:], strict=True), 1
    ):
        sent = home.run("turns", "show", given, "--prompt", "--json").json
        assert (sent["turn"], sent["step"], sent["model"]) == (turn, f"{turn}-{number}", "scripted")
        system, *messages = seen.body["messages"]
        assert sent["system_prompt"] == system["content"]
        told = [(each["role"], each["content"]) for each in sent["messages"]]
        assert told == [(each["role"], each["content"]) for each in messages]
        names = [tool["function"]["name"] for tool in seen.body["tools"]]
        assert [tool["name"] for tool in sent["tools"]] == names


def test_the_prompt_for_people_is_whole_and_says_with_which_call_it_went(
    home: Home, model_server: ModelServer
) -> None:
    turn = worked(home, model_server)
    shown = home.run("turns", "show", "last", "--prompt")
    assert shown.err == ""
    first, *_ = shown.out.splitlines()
    assert first.startswith(f"Sent to scripted with {turn}-2, model call 2 of the turn: 6 messages")
    assert model_server.requests[-1].messages[0]["content"] in shown.out
    assert '→ terminal {"command": "seq -f \'line %.0f\' 30"} (call_a)' in shown.out
    assert "line 15\n" in shown.out
    assert "tool read_file (call_b, failed)" in shown.out
    refused = home.run("turns", "show", f"{turn}-9", "--prompt")
    assert refused.code == 2
    assert f"Its calls: {turn}-1, {turn}-2." in refused.err


def test_outputs_of_tools_are_folded_and_whole_where_that_is_wanted(
    home: Home, model_server: ModelServer
) -> None:
    turn = worked(home, model_server)
    shown = home.run("turns", "show", turn)
    assert "line 5\n  … 22 more lines …\n  line 28" in shown.out
    assert "line 15" not in shown.out
    assert "nowhere.txt" in shown.out.split("read_file nowhere.txt  error\n")[1]
    assert f"hermes-jobs turns show {turn} --full" in shown.err
    whole = home.run("turns", "show", turn, "--full")
    assert "\n  ".join(LINES.split("\n")) in whole.out
    assert whole.err == ""


def test_the_page_has_the_prompt(home: Home, model_server: ModelServer) -> None:
    turn = worked(home, model_server)
    page = home.work / "turn.html"
    assert home.run("turns", "show", turn, "--html", str(page)).code == 0
    text = page.read_text()
    assert "Sent to the model" in text
    assert f"{turn}-2" in text
    assert "<h4>System prompt</h4>" in text
    assert home.run("turns", "show", turn, "--html", str(page), "--prompt").code == 2
