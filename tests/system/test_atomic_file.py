"""Writing a file atomically."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hermes_jobs.system.atomic_file import atomic_write, write_bytes


def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    write_bytes(tmp_path / "new", b"text")

    assert (tmp_path / "new").read_bytes() == b"text"
    assert _mode(tmp_path / "new") == 0o600


@pytest.mark.parametrize(("keep_mode", "mode"), [(False, 0o600), (True, 0o640)])
def test_the_mode_of_a_replaced_file_is_kept_on_request(tmp_path: Path, keep_mode: bool, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)

    write_bytes(path, b"new", keep_mode=keep_mode)

    assert (path.read_bytes(), _mode(path)) == (b"new", mode)


def test_after_an_exception_the_old_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    with pytest.raises(ZeroDivisionError):
        _fail_while_writing(tmp_path / "file")

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_the_old_file_is_read_until_the_new_one_is_complete(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")

    with atomic_write(tmp_path / "file", durable=False) as file:
        file.write(b"new")
        file.flush()
        during = (tmp_path / "file").read_bytes()

    assert (during, (tmp_path / "file").read_bytes()) == (b"old", b"new")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "link").symlink_to("target")

    write_bytes(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"new"


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    write_bytes(tmp_path / ("n" * 255), b"text")

    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"text"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_bytes(tmp_path / "missing" / "file", b"text")


def _fail_while_writing(path: Path) -> None:
    with atomic_write(path) as file:
        file.write(b"half")
        raise ZeroDivisionError


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
