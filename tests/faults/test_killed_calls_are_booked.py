"""What a call used whose process was killed is never known: it is estimated, said so, and listed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_all_is_done_once, facts_of
from tests.features.attachments.files import picture
from tests.home import Home
from tests.model_script import Answer, AskedCall, Hold, Rule, Script
from tests.model_server import ModelServer


def killed_in_its_call(
    home: Home, model_server: ModelServer, *arguments: str, then: str
) -> Sequence[e.Event]:
    """A `send` is killed while its first call is held; another one goes on. What was recorded."""
    with home.start("send", *arguments) as running:
        model_server.wait_until(lambda: len(model_server.requests) == 1)
        running.process.kill()
        model_server.wait_until(lambda: model_server.disconnects == 1)
    model_server.release()
    home.send(then)
    with home.open_log() as log:
        assert_all_is_done_once(log, [])
        return facts_of(log)


@pytest.mark.slow
def test_a_call_that_died_with_its_process_is_estimated_and_listed(
    home: Home, model_server: ModelServer
) -> None:
    used = {"prompt_tokens": 100, "completion_tokens": 7}
    model_server.follow(
        Script(rules=(Rule("wait", (Hold(answer=Answer(text="At last.", usage=used)),)),), sequence=())
    )
    facts = killed_in_its_call(home, model_server, "Please wait.", then="Another, and wait.")
    (abandoned,) = [fact for fact in facts if isinstance(fact, e.StepAbandoned)]
    assert abandoned.estimated.input_tokens > 0
    (row,) = home.run("usage", "--json").json
    assert (row["requests"], row["input_tokens"], row["output_tokens"]) == (2, 200, 14)
    assert row["estimated"]["requests"] == 1
    assert row["estimated"]["input_tokens"] == abandoned.estimated.input_tokens
    (listed,) = home.run("usage", "--estimated", "--json").json
    assert (listed["turn"], listed["step"], listed["reason"]) == (
        abandoned.turn,
        abandoned.step,
        "its worker died",
    )
    shown = home.run("usage")
    assert "1 call ended without reporting usage" in shown.err
    assert "ESTIMATED BESIDES" in shown.out


@pytest.mark.slow
def test_a_search_that_died_while_it_was_summarised_is_estimated(
    home: Home, model_server: ModelServer
) -> None:
    search = AskedCall("session_search", {"query": "nginx proxy", "limit": 2})
    model_server.follow(
        Script(
            rules=(
                Rule("Looked for:", (Hold(answer=Answer(text="They set up nginx.")),)),
                Rule("remember", (Answer(tool_calls=(search,)), Answer(text="Yes."))),
            ),
            default=Answer(text="nginx is a proxy now."),
        )
    )
    home.send("set up a proxy with nginx")
    with home.start("send", "do you remember the proxy?") as running:
        model_server.wait_until(
            lambda: any("Looked for:" in seen.last_user_text for seen in model_server.requests)
        )
        running.process.kill()
        model_server.wait_until(lambda: model_server.disconnects == 1)
    model_server.release()
    home.send("Another.")
    with home.open_log() as log:
        facts = facts_of(log)
    (abandoned,) = [fact for fact in facts if isinstance(fact, e.StepAbandoned)]
    (search_step,) = {fact.call for fact in facts if isinstance(fact, e.ToolStarted)}
    assert abandoned.step == search_step
    assert (abandoned.estimated.input_tokens, abandoned.estimated.output_tokens) == (50_000, 600)
    (listed,) = home.run("usage", "--estimated", "--json").json
    assert (listed["step"], listed["reason"]) == (search_step, "its worker died")
    booked = [fact for fact in facts if isinstance(fact, e.ResponseBooked)]
    assert {fact.purpose for fact in booked} == {"session_search"}, "the search was made again, and booked"
    assert home.run("events", "verify").code == 0


@pytest.mark.slow
def test_a_description_that_died_with_its_process_is_estimated(home: Home, model_server: ModelServer) -> None:
    home.environ |= {"HERMES_JOBS_MODEL": "blind", "HERMES_JOBS_AUXILIARY__VISION__MODEL": "seer"}
    home.run("config", "set", "attachments.sees.blind", "false")
    held = Rule("Describe this picture", (Hold(answer=Answer(text="A lighthouse.")),))
    model_server.follow(Script(rules=(held,), default=Answer(text="Noted.")))
    (home.work / "sign.png").write_bytes(picture())
    facts = killed_in_its_call(home, model_server, "Look.", "-a", "sign.png", then="Another.")
    (abandoned,) = [fact for fact in facts if isinstance(fact, e.StepAbandoned)]
    assert (abandoned.model, abandoned.estimated.input_tokens > 200) == ("seer", True)
    assert len([fact for fact in facts if isinstance(fact, e.PerceptionStarted)]) == 2
    assert home.run("events", "verify").code == 0
