"""Keys of earlier builds: a warning says what holds instead, and they can be taken out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import load, set_value, unset_value
from hermes_jobs.settings.keys import known_keys, known_sections
from hermes_jobs.settings.removed_keys import REMOVED
from tests.home import Home

OLD = """\
memory:
  episodic_days: 30
  recall: true
auxiliary:
  consolidation: {model: small}
"""


def test_no_removed_key_is_a_key() -> None:
    assert not REMOVED.keys() & {*known_keys(), *known_sections()}


def test_a_removed_key_in_the_file_is_named_with_its_line_and_the_rest_holds(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(OLD)

    settings = load({}, home=tmp_path)

    assert settings.memory.recall is True
    first, second = settings.removed
    assert first.startswith("memory.episodic_days is no longer a key and has no effect (")
    assert "config.yaml, line 2" in first
    assert "365 days" in first
    assert second.startswith("auxiliary.consolidation ")


@pytest.mark.parametrize("where", ["environment", ".env"])
def test_a_variable_of_a_removed_key_is_named(tmp_path: Path, where: str) -> None:
    variable = "HERMES_JOBS_AUXILIARY__CONSOLIDATION__MODEL"
    if where == ".env":
        (tmp_path / ".env").write_text(f"{variable}=small\n")
        (tmp_path / ".env").chmod(0o600)
    (text,) = load({variable: "small"} if where == "environment" else {}, home=tmp_path).removed
    assert text.startswith("auxiliary.consolidation.model is no longer a key")
    assert f"({where} {variable})" in text


def test_a_removed_key_can_be_unset_and_not_set(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(OLD)

    assert unset_value(tmp_path, "memory.episodic_days") == ("memory.episodic_days", True)
    assert unset_value(tmp_path, "memory.working_days") == ("memory.working_days", False)

    assert "episodic_days" not in (tmp_path / "config.yaml").read_text()
    with pytest.raises(Misconfigured, match=r"any more: they expire after 365"):
        set_value(tmp_path, "memory.episodic_days", "30")


def test_commands_warn_and_go_on(tmp_path: Path) -> None:
    home = Home(tmp_path, {})
    home.path.mkdir()
    (home.path / "config.yaml").write_text(OLD)
    shown = home.run("config", "get", "memory.recall", "--json")
    assert (shown.code, shown.json) == (0, True)
    assert shown.err.count("Warning: ") == 2
    assert "Warning: memory.episodic_days is no longer a key" in shown.err
