"""The scripted server as a process, and its rules, without our own client."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer


def post(base_url: str, *messages: dict[str, Any]) -> dict[str, Any]:
    data = json.dumps({"model": "m", "messages": messages}).encode()
    asked = urllib.request.Request(f"{base_url}/chat/completions", data, {"content-type": "application/json"})
    with urllib.request.urlopen(asked) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_a_rule_answers_each_round_of_each_session_the_same(model_server: ModelServer) -> None:
    steps = (Answer(tool_calls=(AskedCall("terminal", {"command": "date"}),)), Answer(text="Sunny."))
    model_server.follow(Script(rules=(Rule("weather", steps),), default=Answer(text="Else.")))
    history = [user("How is the weather?")]
    first = post(model_server.base_url, *history)
    assert post(model_server.base_url, *history)["choices"] == first["choices"]
    message = first["choices"][0]["message"]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in message["tool_calls"]]
    second = post(model_server.base_url, *history, message, *results)
    assert second["choices"][0]["message"]["content"] == "Sunny."
    assert post(model_server.base_url, user("x"))["choices"][0]["message"]["content"] == "Else."


def test_usage_is_counted_the_same_each_time(model_server: ModelServer) -> None:
    first, second = (post(model_server.base_url, user("Hello"))["usage"] for _ in range(2))
    assert first == second
    assert first["total_tokens"] == first["prompt_tokens"] + first["completion_tokens"]


def test_as_a_process_it_prints_its_address_follows_its_script_and_records(tmp_path: Path) -> None:
    script, record = tmp_path / "script.json", tmp_path / "requests.jsonl"
    script.write_text(
        '{"sequence": [{"do": "answer", "text": "First."}], "default": {"do": "answer", "text": "Yes."}}'
    )
    command = [sys.executable, "-m", "tests.model_server", "--script", str(script), "--record", str(record)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        base_url = process.stdout.readline().strip()
        said = [post(base_url, user(text))["choices"][0]["message"]["content"] for text in ("a", "b")]
        process.stdin.close()
        assert process.wait(30) == 0
    assert said == ["First.", "Yes."]
    recorded = [json.loads(line)["messages"][0]["content"] for line in record.read_text().splitlines()]
    assert recorded == ["a", "b"]
