"""The examples of docs/celery.md, run one after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT

EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/celery.md").read_text("utf-8"), re.DOTALL)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "newsroom_of_the_documentation"}
    for example in EXAMPLES:
        exec(example, names)
    assert len(names["chain"].tasks) == 3
    names["test_a_page_is_summarised"](tmp_path, monkeypatch)
