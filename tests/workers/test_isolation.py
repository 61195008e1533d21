"""Nothing of ours imports the Python files of the folder in which it was started."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from hermes_jobs.system.isolation import isolated, python_module
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall
from tests.model_server import ModelServer

TRAPS = (
    "click.py",
    "celery.py",
    "celeryconfig.py",
    "kombu.py",
    "flower.py",
    "msgspec.py",
    "redis.py",
    "signal.py",
    "select.py",
    "sitecustomize.py",
    "usercustomize.py",
    "workers/__init__.py",
    "schedules/__init__.py",
    "hermes_jobs_plugins.py",
)


def set_traps(home: Home) -> None:
    """Files in the working folder that leave a mark when somebody imports them."""
    for name in TRAPS:
        file = home.work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            f"open({str(home.work / 'sprung')!r}, 'a').write({name!r} + chr(10))\nraise SystemExit(77)"
        )


def sprung(home: Home) -> str:
    file = home.work / "sprung"
    return file.read_text() if file.exists() else ""


def test_a_module_is_started_without_the_current_folder_on_its_path():
    assert python_module("hermes_jobs") == [sys.executable, "-P", "-m", "hermes_jobs"]


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, {}),
        ({"PYTHONPATH": ""}, {}),
        ({"PYTHONPATH": "."}, {}),
        ({"PYTHONPATH": f"{os.pathsep}/a{os.pathsep}b{os.pathsep}/c"}, {"PYTHONPATH": f"/a{os.pathsep}/c"}),
        ({"PATH": "/bin", "PYTHONPATH": "/a"}, {"PATH": "/bin", "PYTHONPATH": "/a"}),
    ],
)
def test_entries_of_pythonpath_that_mean_the_current_folder_are_left_out(given, left):
    assert isolated(given) == left


@pytest.mark.slow
def test_a_folder_of_others_gives_no_code_to_send_nor_to_a_command(tmp_path, model_server: ModelServer):
    """Given traps in the folder, when `send` runs a command and a search there, then none has sprung."""
    home = Home(tmp_path, endpoint(model_server.base_url))
    set_traps(home)
    calls = (
        AskedCall("terminal", {"command": "echo ran"}),
        AskedCall("search_files", {"pattern": "raise", "path": "."}),
    )
    model_server.follow([Answer(tool_calls=calls), Answer(text="Done.")])
    assert home.send("go")["num_tool_calls"] == 2
    assert sprung(home) == ""


@pytest.mark.slow
def test_up_comes_up_in_a_folder_of_others_and_imports_none_of_it(tmp_path, model_server: ModelServer):
    """Given traps in the folder, when everything is started there, then it works and none has sprung."""
    home = Home(tmp_path, endpoint(model_server.base_url))
    set_traps(home)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = home.run("up", "-d", "--flower-port", str(port))
    try:
        assert started.code == 0, started.err
        assert home.send("hello")["status"] == "completed"
    finally:
        assert home.run("down").code == 0
    assert sprung(home) == ""
