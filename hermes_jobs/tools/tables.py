"""Tables that are data: `data/*.toml`, words separated by blanks, and regular expressions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_DATA = Path(__file__).with_name("data")


@cache
def load(name: str) -> Mapping[str, Any]:
    """The file `data/NAME.toml`."""
    return tomllib.loads((_DATA / f"{name}.toml").read_text("utf-8"))


@cache
def words(file: str, table: str) -> frozenset[str]:
    """The words of one of a file's `tables`."""
    return frozenset(load(file)["tables"][table].split())


@cache
def pattern(file: str, name: str) -> re.Pattern[str]:
    """One of a file's `patterns`."""
    return re.compile(load(file)["patterns"][name])
