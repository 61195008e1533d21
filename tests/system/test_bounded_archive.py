"""Archives from elsewhere are read within limits."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.system.bounded_archive import (
    ALWAYS_ALLOWED,
    MAX_DEPTH,
    Unpackable,
    bounded_lines,
    check_size,
    checked_path,
    unpack_tar,
    zip_entries,
)


@given(st.lists(st.sampled_from(("a", "b.txt", "..", ".", "", "c d", "\\")), min_size=1, max_size=6))
def test_a_checked_path_stays_below_its_folder(parts: list[str]) -> None:
    name = "/".join(parts)
    try:
        path = checked_path(name)
    except Unpackable:
        return
    assert not path.is_absolute()
    assert ".." not in path.parts
    assert "\\" not in name


def test_a_path_has_a_greatest_depth() -> None:
    assert checked_path("/".join("a" * MAX_DEPTH))
    with pytest.raises(Unpackable, match="below more than"):
        checked_path("/".join("a" * (MAX_DEPTH + 1)))


@given(st.lists(st.binary(max_size=50).filter(lambda line: b"\n" not in line), max_size=8))
def test_lines_come_as_they_are(lines: list[bytes]) -> None:
    content = b"\n".join(lines)
    assert list(bounded_lines(io.BytesIO(content), None)) == io.BytesIO(content).readlines()


def test_a_line_has_a_greatest_length() -> None:
    with pytest.raises(Unpackable, match="a line of more than"):
        list(bounded_lines(io.BytesIO(b"a" * 3_000_000), None, longest=2_000_000))


def test_small_files_may_grow_and_large_ones_only_by_a_ratio() -> None:
    check_size(ALWAYS_ALLOWED, 1, "it")
    check_size(100 * ALWAYS_ALLOWED, ALWAYS_ALLOWED, "it")
    with pytest.raises(Unpackable, match="100 times"):
        check_size(100 * ALWAYS_ALLOWED + 1, ALWAYS_ALLOWED, "it")


def test_entries_are_counted_and_have_different_names() -> None:
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        archive.writestr("a", "x")
        archive.writestr("b", "x" * 2_000_000)
    with ZipFile(packed) as archive:
        assert [str(path) for path, _ in zip_entries(archive, max_entries=2)] == ["a", "b"]
        with pytest.raises(Unpackable, match="more than 1 entries"):
            zip_entries(archive, max_entries=1)
        with pytest.raises(Unpackable, match="holds more than 1 MiB"):
            zip_entries(archive, max_entries=2, max_size=1 << 20)


def tarred(*members: tuple[str, bytes, bytes], **headers: str) -> io.BytesIO:
    """A .tar of these entries: name, type, content."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as archive:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(content), "/etc/passwd"
            archive.addfile(member, io.BytesIO(content))
    file.seek(0)
    return file


def test_links_and_devices_of_an_archive_are_left_out(tmp_path: Path) -> None:
    file = tarred(
        ("./a/b.txt", tarfile.REGTYPE, b"text"),
        ("link", tarfile.SYMTYPE, b""),
        ("hard", tarfile.LNKTYPE, b""),
        ("device", tarfile.CHRTYPE, b""),
        ("pipe", tarfile.FIFOTYPE, b""),
    )
    unpack_tar(file, tmp_path, max_entries=9, max_size=100)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir()] == [
        "a/b.txt"
    ]


def test_a_tar_is_bounded_in_entries_size_and_headers(tmp_path: Path) -> None:
    entry = ("a", tarfile.REGTYPE, b"text")
    for file, reason in (
        (tarred(entry, entry), "more than 1 entries"),
        (tarred(("a", tarfile.REGTYPE, bytes(101))), "holds more than"),
        (tarred(entry, comment="x" * 1_000_000), "unpacks to more"),
        (tarred(("../a", tarfile.REGTYPE, b"")), "outside of its folder"),
    ):
        with pytest.raises(Unpackable, match=reason):
            unpack_tar(file, tmp_path, max_entries=1, max_size=100)
