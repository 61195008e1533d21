"""`make demo-failures`: a part of it, the worker that is killed after the agent paid."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.processes import ROOT


@pytest.mark.nightly
@pytest.mark.redis
@pytest.mark.postgres
def test_a_plain_agent_pays_twice_where_hermes_jobs_pays_once() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.demo.failures", "2"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran
    assert "went on after its last step; paid 1 time" in ran.stdout
    if shutil.which("redis-server"):
        assert "began again with its first step; paid 2 times" in ran.stdout
