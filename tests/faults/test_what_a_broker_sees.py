"""Keys and texts are planted, turns run, fail, wait, are killed and learn; then all that the broker was sent,
and all logs of the workers, are searched for them. An answer's text is there only while somebody watches.
"""

from __future__ import annotations

import re
import threading
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

import pytest
from redis import Redis
from redis.exceptions import RedisError

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import facts_of
from tests.faults.crew import Crew, wait_until
from tests.faults.redis_server import RedisServer
from tests.home import Home
from tests.model_script import Answer, AskedCall, Refuse, Rule, Script
from tests.model_server import ModelServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

SECRETS = {
    "OPENAI_API_KEY": "sk-planted-openai-7f3a9c21d5",
    "BRAVE_API_KEY": "planted-brave-55aa01f9e3",
    "GITHUB_TOKEN": "ghp_plantedgithub0a1b2c3d4e5f6g7h8",
    "WEBHOOK_SECRET": "planted-webhook-9b7d0c1e",
    "FLOWER_BASIC_AUTH": "boss:planted-flower-3c5e",
    "SMTP_PASS": "planted/pass+4d2c",
}
TEXTS = {
    "message": "quagga-in-the-message",
    "argument": "dugong-in-the-argument",
    "output": "axolotl-in-the-output",
    "reasoning": "numbat-in-the-reasoning",
    "reason": "saola-in-the-reason",
    "memory": "tapir-in-the-memory",
    "answer": "okapi-in-the-answer",
}
KEYS = " ".join(SECRETS.values())


def calls(command: str) -> Answer:
    """A reply that runs a command, thought about."""
    asked = AskedCall("terminal", {"command": f"{command} # {TEXTS['argument']} {KEYS}"})
    return Answer(reasoning=f"{TEXTS['reasoning']} {KEYS}", tool_calls=(asked,))


SAID = Answer(text=f"{TEXTS['answer']} {KEYS}")
REMEMBERED = AskedCall(
    "memory", {"action": "add", "target": "memory", "content": f"They like the {TEXTS['memory']}."}
)
MISNAMED = AskedCall(f"terminal {TEXTS['argument']} {KEYS}", {})
SCRIPT = Script(
    rules=(
        Rule("Fail", (calls("cat keys.txt; exit 3"), Answer(tool_calls=(MISNAMED,)), SAID)),
        Rule("Wait", (calls("rm -r build"), SAID)),
        Rule("Sleep", (calls("touch begun; sleep 60"), SAID)),
        Rule("Refuse", (Refuse(status=401, message=f"Incorrect API key provided: {KEYS}."),)),
        Rule(TEXTS["message"], (SAID,)),
    ),
    default=Answer(tool_calls=(REMEMBERED,)),
)


@contextmanager
def recorded(broker: RedisServer) -> Iterator[list[str]]:
    """The commands that the broker gets meanwhile, each as text."""
    seen: list[str] = []
    with Redis.from_url(broker.url, socket_timeout=None) as client, client.monitor() as monitor:

        def listen() -> None:
            with suppress(RedisError, OSError, ValueError, AttributeError):  # the connection is closed
                while True:
                    seen.append(
                        monitor.connection.read_response(disable_decoding=True).decode(errors="replace")
                    )

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        yield seen
        with Redis.from_url(broker.url) as other:
            other.publish("the-end", "of-the-record")
        wait_until(lambda: any("of-the-record" in line for line in seen), "the end of the record")
    thread.join()


def readable(text: str) -> str:
    """A text, with all that it holds in base64."""
    inner = [
        b64decode(each + "=" * (-len(each) % 4)).decode(errors="replace")
        for each in re.findall(r"[A-Za-z0-9+/]{20,}", text)
    ]
    return "\n".join((text, *inner))


def forms(value: str) -> list[str]:
    return [value, quote(value, safe=""), b64encode(value.encode()).decode()[:-4], value.encode().hex()]


def found(values: dict[str, str], text: str) -> list[str]:
    """The names of the values that it holds, in any of their forms."""
    return [name for name, value in values.items() if any(form in text for form in forms(value))]


def test_no_key_and_no_text_reaches_the_broker_or_a_log(
    crew: Crew, home: Home, broker: RedisServer, model_server: ModelServer
) -> None:
    """With `SECRETS` in `.env`, in files, and in what the user and the model say."""
    home.path.mkdir(mode=0o700, exist_ok=True)
    dotenv = home.path / ".env"
    dotenv.write_text("".join(f"{name}={value}\n" for name, value in SECRETS.items()))
    dotenv.chmod(0o600)
    home.environ.pop("OPENAI_API_KEY")
    home.environ["HERMES_JOBS_MEMORY__NUDGE_INTERVAL"] = "1"
    (home.work / "keys.txt").write_text(f"{TEXTS['output']} {KEYS}")
    (home.work / "build").mkdir()
    model_server.follow(SCRIPT)

    def send(word: str) -> str:
        ran = home.run("send", "--no-wait", f"{word} {TEXTS['message']} {KEYS}")
        assert ran.code == 0, ran
        return ran.out.strip()

    with recorded(broker) as seen:
        workers = [crew.start_one(0)]
        turns = [send("Fail"), send("Refuse")]
        waiting, sleeping = send("Wait"), send("Sleep")
        wait_until(lambda: home.turn(waiting)["status"] == "waiting", "the question")
        denied = home.run("turns", "deny", waiting, "--reason", f"{TEXTS['reason']} {KEYS}")
        assert denied.code == 0, denied
        wait_until((home.work / "begun").exists, "the command")
        crew.kill(0)
        workers.append(crew.start_one(1))
        crew.finish()
    for turn in (*turns, waiting, sleeping):
        assert home.turn(turn)["status"] in {"completed", "failed"}, home.turn(turn)
    with home.open_log() as log:
        assert any(isinstance(fact, e.StepAbandoned) for fact in facts_of(log)), "nobody was killed"
    carried = readable("\n".join(seen))
    assert turns[0] in carried, "nothing was recorded"
    assert "tool=terminal" in carried
    assert (found(SECRETS, carried), found(TEXTS, carried)) == ([], [])
    logs = "\n".join(worker.err + worker.out for worker in workers)
    logs += "\n".join(path.read_text() for path in (home.path / "logs").glob("*") if path.is_file())
    assert (found(SECRETS, readable(logs)), found(TEXTS, logs)) == ([], [])


def test_an_answer_passes_the_broker_while_it_is_watched_and_is_not_kept(
    crew: Crew, home: Home, broker: RedisServer, model_server: ModelServer
) -> None:
    said = Answer(
        text=f"{TEXTS['answer']} " + "word " * 100, reasoning=TEXTS["reasoning"], piece=100, pace=0.1
    )
    model_server.follow(Script(default=said))
    with recorded(broker) as seen:
        crew.start_one(0)
        ran = home.run("send", "--jsonl", TEXTS["message"])
        assert ran.code == 0, ran
    carried = readable("\n".join(seen))
    assert found(TEXTS, carried) == ["answer"]
    with Redis.from_url(broker.url) as client:
        kept = [client.dump(key) or b"" for key in client.keys("*")]
    assert not any(TEXTS["answer"].encode() in each for each in kept)
