"""The examples of docs/python.md, run one after another in one home."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hermes_jobs.client import Home
from tests.home import endpoint
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer
from tests.processes import ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text("utf-8"), re.DOTALL)


def test_the_examples_run(
    tmp_path: Path,
    model_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    clean = AskedCall("terminal", {"command": "rm -r build"})
    rules = (
        Rule("Clean up", (Answer(tool_calls=(clean,)), Answer(text="It is clean."))),
        Rule("Who wrote", (Answer(text='{"name": "Ada"}'),)),
    )
    model_server.follow(Script(rules=rules))
    (tmp_path / "project/build").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    for name, value in {
        **endpoint(model_server.base_url),
        "HERMES_JOBS_HOME": str(tmp_path / "home"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("builtins.input", lambda _question: "y")
    first, *others = EXAMPLES
    names: dict[str, object] = {}
    exec(first, names)
    with Home() as home:
        names["home"] = home
        for example in others:
            exec(example, names)
    assert names["name"] == "Ada"
    assert not (tmp_path / "project/build").exists()
    assert "completed" in capsys.readouterr().out
