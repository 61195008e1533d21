"""`constraints.txt`, with which CI installs: it names each dependency in a version that is allowed."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INSTALLED = ("postgres", "dev")  # the extras of `make setup`
DECLARED = [
    *PROJECT["dependencies"],
    *(each for extra in INSTALLED for each in PROJECT["optional-dependencies"][extra]),
]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.split("==") for line in lines if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize("dependency", sorted(set(DECLARED)))
def test_each_dependency_has_an_allowed_version(dependency: str) -> None:
    requirement = Requirement(dependency)
    version = pinned().get(canonicalize_name(requirement.name))
    assert version is not None, "`make constraints` writes the versions that are installed"
    assert version in requirement.specifier
