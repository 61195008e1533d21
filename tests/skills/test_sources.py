"""Fetching skills: folders, repositories, archives, addresses, and what is refused of them."""

from __future__ import annotations

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hermes_jobs.errors import Rejected
from hermes_jobs.features.skills.installation import choose, find_candidates
from hermes_jobs.features.skills.sources import Repository, fetch, repository_of
from tests.server_thread import ServerThread
from tests.skills.hosts import skill_text

FILES = {
    "pdf/SKILL.md": skill_text("pdf"),
    "pdf/scripts/a.sh": "echo a\n",
    "mail/SKILL.md": skill_text("mail"),
}


class Site:
    """A web site: what lies at its paths."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes | str] = {}
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                page = site.pages.get(self.path)
                if isinstance(page, str):
                    self.send_response(302)
                    self.send_header("Location", page)
                    self.end_headers()
                    return
                self.send_response(404 if page is None else 200)
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = ServerThread(self._server)
        self._thread.start()

    def close(self) -> None:
        self._thread.close()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def lay(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def committed(folder: Path, files: Mapping[str, str]) -> str:
    """A repository's next commit."""
    lay(folder, files)
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "-A")
    git(folder, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "x")
    return git(folder, "rev-parse", "HEAD").strip()


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def zipped(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return made.getvalue()


def encrypted(archive: bytes) -> bytes:
    """A .zip whose entries say that they are encrypted."""
    first = archive.index(b"PK\x01\x02") + 8
    return archive[:first] + b"\x01\x00" + archive[first + 2 :]


def tarred(files: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("https://github.com/a/b", Repository(address="https://github.com/a/b.git")),
        (
            "https://github.com/a/b.git#v1:x/y",
            Repository(address="https://github.com/a/b.git", revision="v1", path="x/y"),
        ),
        (
            "https://github.com/a/b/tree/main/skills/pdf",
            Repository(address="https://github.com/a/b.git", revision="main", path="skills/pdf"),
        ),
        (
            "https://gitlab.com/a/b/-/tree/dev/x",
            Repository(address="https://gitlab.com/a/b.git", revision="dev", path="x"),
        ),
        (
            "https://github.com/a/b/blob/main/skills/pdf/SKILL.md",
            Repository(address="https://github.com/a/b.git", revision="main", path="skills/pdf"),
        ),
        (
            "https://github.com/a/b/blob/main/SKILL.md",
            Repository(address="https://github.com/a/b.git", revision="main"),
        ),
        ("https://example.com/a.git", Repository(address="https://example.com/a.git")),
        ("file:///srv/a#v1:x", Repository(address="file:///srv/a", revision="v1", path="x")),
        ("git@example.com:a/b", Repository(address="git@example.com:a/b")),
        ("ssh://git@example.com/a#v2", Repository(address="ssh://git@example.com/a", revision="v2")),
        ("git+https://example.com/a#:p", Repository(address="https://example.com/a", path="p")),
        ("https://example.com/skills.zip", None),
        ("https://github.com/a/b/releases/download/v1/skill.zip", None),
    ],
)
def test_addresses_of_repositories_are_recognised(named: str, meant: Repository | None) -> None:
    assert repository_of(named) == meant


def test_a_folder_is_used_where_it_lies(tmp_path: Path) -> None:
    folder = lay(tmp_path / "skills", FILES)
    fetched = fetch(str(folder), tmp_path)
    assert (fetched.folder, fetched.source) == (folder, str(folder))
    assert [each.name for each in find_candidates(fetched)] == ["mail", "pdf"]


def test_a_repository_is_fetched_at_a_state(tmp_path: Path) -> None:
    source = tmp_path / "source"
    first = committed(source, FILES)
    committed(source, {"pdf/SKILL.md": skill_text("pdf", "Do it better.")})
    (tmp_path / "now").mkdir()
    (tmp_path / "then").mkdir()
    now = fetch(f"git+file://{source}", tmp_path / "now")
    then = fetch(f"git+file://{source}#{first}:pdf", tmp_path / "then")
    assert (now.revision, now.source) == (git(source, "rev-parse", "HEAD").strip(), f"git+file://{source}")
    assert (then.revision, then.path, then.source) == (first, "pdf", f"git+file://{source}#{first}")
    (pdf,) = find_candidates(then)
    assert "Do it." in pdf.files["SKILL.md"].content
    assert sorted(pdf.files) == ["SKILL.md", "scripts/a.sh"]


@pytest.mark.parametrize("content", [zipped(FILES), tarred(FILES), skill_text("pdf").encode()])
def test_a_file_is_fetched_from_its_address(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "into").mkdir()
    (tmp_path / "given").write_bytes(content)
    fetched = fetch(str(tmp_path / "given"), tmp_path / "into")
    assert fetched.source == str(tmp_path / "given")
    assert "pdf" in {each.name for each in find_candidates(fetched)}


@pytest.mark.parametrize("make", [zipped, tarred])
def test_an_archive_is_unpacked(site: Site, tmp_path: Path, make: object) -> None:
    assert callable(make)
    site.pages["/skills"] = make(FILES)
    found = find_candidates(fetch(f"{site.address}/skills#pdf", tmp_path))
    assert [(each.name, each.origin.path) for each in found] == [("pdf", "pdf")]


def test_one_skill_md_is_enough(site: Site, tmp_path: Path) -> None:
    site.pages["/SKILL.md"] = skill_text("tidy").encode()
    (found,) = find_candidates(fetch(f"{site.address}/SKILL.md", tmp_path))
    assert (found.name, found.origin.source) == ("tidy", f"{site.address}/SKILL.md")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("nosuch", "no folder or file 'nosuch'"),
        ("~/nosuch/folder", "no folder"),
        ("http://example.com/x.zip", "is not an https address"),
        ("https://me:word@example.com/x.zip", "with a password would be recorded"),
        ("https://me:word@example.com/x.git", "with a password would be recorded"),
        ("git+file:///nosuch/repository", "does not appear to be a git repository"),
        ("git+ext::sh -c x", "no folder"),
        ("git+http://example.com/a", "transport 'http' not allowed"),
        ("https://example.com/x.git#-upload-pack=x", "is not a revision"),
    ],
)
def test_an_unfetchable_source_is_refused(tmp_path: Path, named: str, said: str) -> None:
    with pytest.raises(Rejected, match=said):
        fetch(named, tmp_path)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (None, "the server answered 404 Not Found.$"),
        (encrypted(zipped(FILES)), "is encrypted"),
        (b"<html>", "no SKILL.md"),
        (b"PK\x03\x04 broken", "cannot be unpacked"),
        (b"\x1f\x8b broken", "cannot be unpacked"),
        ("http://example.com/x.zip", "is not an https address|cannot be fetched"),
    ],
)
def test_a_folder_that_is_no_skill_is_refused(
    site: Site, tmp_path: Path, page: bytes | str | None, said: str
) -> None:
    if page is not None:
        site.pages["/x"] = page
    with pytest.raises(Rejected, match=said):
        fetch(f"{site.address}/x", tmp_path)


def test_an_archive_cannot_write_elsewhere(site: Site, tmp_path: Path) -> None:
    (tmp_path / "into").mkdir()
    site.pages["/x"] = tarred({"../evil": "x", "SKILL.md": skill_text("x")})
    with pytest.raises(Rejected, match="outside of its folder"):
        fetch(f"{site.address}/x", tmp_path / "into")
    site.pages["/x"] = zipped({"../evil": "x", "SKILL.md": skill_text("x")})
    with pytest.raises(Rejected, match="outside of its folder"):
        fetch(f"{site.address}/x", tmp_path / "into")
    assert not (tmp_path / "evil").exists()


def test_an_archive_that_would_fill_the_disk_is_refused(site: Site, tmp_path: Path) -> None:
    site.pages["/x"] = zipped({"SKILL.md": skill_text("x"), **{str(n): "0" * (7 << 20) for n in range(9)}})
    with pytest.raises(Rejected, match="more than 60 MiB"):
        fetch(f"{site.address}/x", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_of_several_one_has_to_be_chosen(tmp_path: Path) -> None:
    found = find_candidates(fetch(str(lay(tmp_path, FILES)), tmp_path))
    assert [each.name for each in choose(found, ["pdf"], everything=False)] == ["pdf"]
    assert choose(found, [], everything=True) == found
    with pytest.raises(Rejected, match="There are 2 skills: mail, pdf"):
        choose(found, [], everything=False)
    with pytest.raises(Rejected, match="no skill 'x' there"):
        choose(found, ["x"], everything=True)


@pytest.mark.parametrize(
    ("files", "path", "said"),
    [
        ({"README.md": "x"}, "", "There is no skill"),
        ({"SKILL.md": skill_text("x")}, "nosuch", "There is no folder 'nosuch'"),
        ({"SKILL.md": skill_text("x")}, "../..", "There is no folder"),
        ({"SKILL.md": "no front matter"}, "", "does not begin with front matter"),
    ],
)
def test_a_source_without_skills_is_refused(
    tmp_path: Path, files: Mapping[str, str], path: str, said: str
) -> None:
    fetched = fetch(str(lay(tmp_path / "a" / "b", files)), tmp_path)
    with pytest.raises(Rejected, match=said):
        find_candidates(type(fetched)(folder=fetched.folder, source=fetched.source, path=path))
