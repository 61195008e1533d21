"""Where the home is, how it is made, and what reading it costs."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_jobs.errors import Misconfigured
from hermes_jobs.settings import Paths, ensure_home, find_home, load
from tests.small_disk import mounted


def test_the_home_is_that_of_the_variable_or_in_the_users_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    user = {"HOME": "/home/anna"}
    assert find_home(user) == Path("/home/anna/.hermes-jobs")
    assert find_home({**user, "HERMES_JOBS_HOME": ""}) == Path("/home/anna/.hermes-jobs")
    assert find_home({**user, "HERMES_JOBS_HOME": "~/h"}) == Path("/home/anna/h").resolve()
    assert find_home({**user, "HERMES_JOBS_HOME": "here/../there"}) == (tmp_path / "there").resolve()


def test_where_no_folder_leads_to_the_home_an_absolute_path_is_asked_for(tmp_path, monkeypatch):
    def unknown(_user: int) -> None:
        raise KeyError

    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert find_home({"HERMES_JOBS_HOME": str(tmp_path)}) == tmp_path.resolve()
    for environ, reason in (
        ({}, "HOME is not set"),
        ({"HERMES_JOBS_HOME": "~/agent"}, "HOME is not set"),
        ({"HERMES_JOBS_HOME": "agent"}, "has been deleted"),
    ):
        with pytest.raises(Misconfigured, match=reason) as caught:
            find_home(environ)
        assert "HERMES_JOBS_HOME" in caught.value.hint


def test_loading_creates_nothing(tmp_path):
    settings = load({"HERMES_JOBS_HOME": str(tmp_path / "new")})
    assert settings.paths.home == tmp_path / "new"
    assert not settings.paths.home.exists()


def test_the_home_and_its_folders_are_made_for_their_owner_alone(tmp_path):
    paths = Paths(tmp_path / "above" / "home")
    ensure_home(paths)
    ensure_home(paths)
    for folder in (paths.home, *paths.folders):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder


def test_every_path_is_in_the_home(tmp_path):
    paths = Paths(tmp_path)
    files = {paths.config, paths.env_file, paths.soul, paths.events_db}
    assert {file.name for file in files} == {"config.yaml", ".env", "SOUL.md", "events.db"}
    assert {path.parent for path in (*files, *paths.folders)} == {tmp_path}


def test_a_home_under_a_file_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Misconfigured, match=r"^The home .*file/home cannot be written: .*\.$") as caught:
        ensure_home(Paths(tmp_path / "file" / "home"))
    assert "HERMES_JOBS_HOME" in caught.value.hint


def test_a_file_in_place_of_the_home_is_refused(tmp_path):
    (tmp_path / "home").touch()
    with pytest.raises(Misconfigured, match=r"cannot be written: .*/home is a file, not a folder"):
        ensure_home(Paths(tmp_path / "home"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_home_that_may_not_be_written_is_refused(tmp_path):
    ensure_home(Paths(tmp_path / "home"))
    (tmp_path / "home").chmod(0o500)
    with pytest.raises(Misconfigured, match="cannot be written: permission denied"):
        ensure_home(Paths(tmp_path / "home"))


def test_a_home_on_a_read_only_disk_is_refused_for_that(tmp_path):
    with mounted(tmp_path / "disk") as disk:
        ensure_home(Paths(disk.path / "home"))
        assert disk.mount("remount,ro")
        with pytest.raises(Misconfigured, match="cannot be written: its disk is read-only"):
            ensure_home(Paths(disk.path / "home"))


def test_loading_without_files_imports_nothing_heavy(tmp_path):
    program = (
        "import sys; from pathlib import Path; from hermes_jobs.settings import load; "
        "load({'HERMES_JOBS_MODEL': 'm'}, home=Path(sys.argv[1])); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "hermes_jobs.settings" in loaded
    assert not loaded & {"yaml", "dotenv", "tempfile", "difflib", "zoneinfo", "asyncio", "rich"}
