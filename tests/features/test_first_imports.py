"""Each module of a feature can be the first that a process imports: which one is depends on the command."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

from hermes_jobs import features
from tests.processes import ROOT

OPTIONAL = ("mem0", "honcho", "opentelemetry", "telegram", "prompt_toolkit")
"""Libraries of extras, whose modules may be missing."""
PROGRAM = """
import asyncio, importlib, os, sys, traceback
import click, httpx, msgspec, sqlalchemy

for name in sys.argv[2:]:
    pid = os.fork()
    if not pid:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as missing:
            os._exit(missing.name.partition(".")[0] not in sys.argv[1].split(","))
        except ImportError:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        print(name)
"""


@pytest.mark.nightly  # five hundred processes; `tests/features` imports each feature's declared parts
@pytest.mark.slow
def test_each_module_of_a_feature_can_be_imported_first() -> None:
    modules = [each.name for each in pkgutil.walk_packages(features.__path__, f"{features.__name__}.")]
    command = [sys.executable, "-c", PROGRAM, ",".join(OPTIONAL), *modules]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ended.stdout.split() == [], ended.stderr
