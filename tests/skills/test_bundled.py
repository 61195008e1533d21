"""The skills that come with this program: sound, short, replaced by those of the person, and left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills import BUNDLED, front_matter
from hermes_jobs.features.skills.catalog import SkillCatalog
from hermes_jobs.features.skills.guard import examine
from hermes_jobs.features.skills.presenter import SkillPresenter
from hermes_jobs.kernel.log.log import EventLog
from hermes_jobs.text.scan.scanner import scan
from hermes_jobs.text.tokens import tokens
from tests.skills.hosts import Host

FOLDERS = sorted(file.parent for file in BUNDLED.glob("*/*/SKILL.md"))
NAMES = [folder.name for folder in FOLDERS]
MOST_TOKENS = 130  # that they add to a prompt


@pytest.fixture
def host(log: EventLog, tmp_path: Path) -> Host:
    made = Host(log, tmp_path / "host")
    made.shelf = SkillCatalog(made.home, bundled=BUNDLED, platform="linux")
    return made


@pytest.mark.parametrize("folder", FOLDERS, ids=NAMES)
def test_each_is_sound_and_short(folder: Path) -> None:
    text = (folder / "SKILL.md").read_text()
    read = front_matter.read(text)
    assert (examine(folder).verdict, scan(text)) == ("safe", ())
    assert (read.name, read.is_plain) == (folder.name, True)
    assert len(read.description) <= 100
    assert tokens(text) <= 600


def test_a_prompt_grows_by_little(host: Host) -> None:
    whole = SkillPresenter(host.shelf).index(None)
    assert all(f"- {name}: " in whole for name in NAMES)
    host.create("tidy")
    both = SkillPresenter(host.shelf).index(None)
    own = SkillPresenter(SkillCatalog(host.home, platform="linux")).index(None)
    assert tokens(both) - tokens(own) <= MOST_TOKENS


def test_they_are_read_once_a_process(host: Host, tmp_path: Path) -> None:
    copy = shutil.copytree(BUNDLED, tmp_path / "bundled")
    catalog = SkillCatalog(host.home, bundled=copy, platform="linux")
    before = catalog.read_entries()
    shutil.rmtree(copy)
    assert catalog.read_entries() == before
    assert [each.name for each in before[0]] == sorted(NAMES)


def test_those_without_their_tools_are_left_out(host: Host) -> None:
    assert "plan-by-the-clock" not in SkillPresenter(host.shelf).index({"skills"})


def test_they_are_only_read_and_one_of_the_same_name_takes_the_place(host: Host) -> None:
    with pytest.raises(Rejected, match="comes with this program"):
        host.ask("patch", NAMES[0], old_string="#", new_string="##")
    host.create(NAMES[0], "Do it my way.")
    found = host.shelf.find(NAMES[0])
    assert (found.is_bundled, "Do it my way." in found.main) == (False, True)
    assert [each.name for each in host.shelf.read_entries()[0]] == sorted(NAMES)
    assert host.shelf.read_entries()[1] == ()
    host.ask("delete", NAMES[0])
    assert host.shelf.find(NAMES[0]).is_bundled
