"""The examples of docs/celery.md, run one after another."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.processes import ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/celery.md").read_text("utf-8"), re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, test = EXAMPLES
    newsroom = ModuleType("newsroom")
    monkeypatch.setitem(sys.modules, "newsroom", newsroom)
    exec(module, vars(newsroom))
    assert len(newsroom.chain.tasks) == 3
    names: dict[str, Any] = {}
    exec(test, names)
    names["test_a_page_is_summarised"](tmp_path, monkeypatch)
