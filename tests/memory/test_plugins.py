"""Providers are found by name: ours, then those of installed packages, then those in the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.errors import Misconfigured
from hermes_jobs.features.memory.external.mem0 import Mem0Memory
from hermes_jobs.features.memory.provider_host import PROVIDERS

PLUGIN = """
from . import words

class Provider:
    def __init__(self, setup):
        self.said = words.SAID

provider = Provider
"""


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    return folder


def put(folder: Path, name: str, text: str = PLUGIN) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(text)
    (folder / name / "words.py").write_text("SAID = 'From the home'\n")


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A package with an entry point of that name."""
    (folder / "installed_memory.py").write_text("class Provider:\n    def __init__(self, setup): ...\n")
    metadata = folder / "installed_memory-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-memory\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        f"[hermes_jobs.memory_providers]\n{name} = installed_memory:Provider\n"
    )
    monkeypatch.syspath_prepend(str(folder))


def test_bundled_providers_are_found(plugins: Path) -> None:
    assert PROVIDERS.names(plugins) == ("honcho", "mem0")
    assert PROVIDERS.factory_of("mem0", plugins).__name__ == Mem0Memory.__name__


def test_a_folder_in_the_home_is_a_package_with_modules_of_its_own(plugins: Path) -> None:
    put(plugins, "my-notes")
    assert "my-notes" in PROVIDERS.names(plugins)
    made = PROVIDERS.factory_of("my-notes", plugins)(None)
    assert made.said == "From the home"


def test_an_installed_package_brings_one(
    plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, monkeypatch, "installed")
    put(plugins, "installed")
    assert PROVIDERS.factory_of("installed", plugins).__module__ == "installed_memory"


def test_ours_win(plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(plugins, "mem0")
    install(tmp_path, monkeypatch, "mem0")
    assert PROVIDERS.factory_of("mem0", plugins).__name__ == Mem0Memory.__name__


def test_an_unknown_name_is_answered_with_those_that_there_are(plugins: Path) -> None:
    put(plugins, "notes")
    with pytest.raises(Misconfigured, match=r"memory\.provider is 'nots'") as refused:
        PROVIDERS.check_name("nots", plugins)
    assert "There are: honcho, mem0, notes." in refused.value.hint


@pytest.mark.parametrize("name", ["..", ".", "a/b", ""])
def test_a_name_leads_nowhere_else(plugins: Path, name: str) -> None:
    (plugins.parent / "__init__.py").write_text(PLUGIN)
    with pytest.raises(Misconfigured):
        PROVIDERS.factory_of(name, plugins)
