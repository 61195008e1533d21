"""File tools in a person's own home folder: keys and startup files ask, hermes-jobs' home is closed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from .support import Desk

SECRETS = (
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/sub/key",
    ".aws/credentials",
    ".gnupg/secring.gpg",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".kube/config",
    ".config/gh/hosts.yml",
    ".config/gcloud/access_tokens.db",
    ".password-store/a.gpg",
    ".local/share/keyrings/login.keyring",
    ".cargo/credentials.toml",
    ".vault-token",
    ".mozilla/firefox/x/logins.json",
    ".azure/x",
    "backup/.ssh/id_rsa",
    "keys/id_ed25519",
)
STARTUP = (
    ".bashrc",
    ".profile",
    ".bash_profile",
    ".zshrc",
    ".zshenv",
    ".config/fish/config.fish",
    ".ssh/authorized_keys",
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".gitconfig",
    ".config/git/config",
    "project/.git/hooks/pre-commit",
    "project/.git/config",
    "project/.git/modules/sub/hooks/post-checkout",
    "project/.envrc",
    "project/.husky/pre-commit",
    "venv/lib/site-packages/x.pth",
    "x/sitecustomize.py",
    "bare.git/hooks/update",
    "project/.claude/settings.json",
    "project/.mcp.json",
    "project/.cursor/mcp.json",
    "project/.vscode/settings.json",
    "project/.devcontainer/devcontainer.json",
    "project/mise.toml",
    "project/.exrc",
    "project/.vimrc",
    "project/.helix/languages.toml",
    "project/opencode.json",
    "project/.nvim.lua",
    "project/.dir-locals.el",
    "project/.direnvrc",
    "project/.pre-commit-config.yaml",
    "project/web/.git",
)
HOME = (
    ".env",
    "config.yaml",
    "SOUL.md",
    "events.db",
    "events.db-wal",
    "run/broker.json",
    "run/x.sock",
    "logs/up.log",
    "views/v.db",
    "memories/MEMORY.md",
    "plugins/mine/__init__.py",
    "anything/new",
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A session that works in the person's home folder, where all of these files are."""
    desk = Desk(tmp_path.resolve(), in_home=True)
    for name in (*SECRETS, *STARTUP):
        make(desk.folder / name)
    for name in (*HOME[:-1], "results/r.txt", "skills/a/SKILL.md"):
        make(desk.home / name)
    return desk


def make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("the needle")


@pytest.mark.parametrize("name", SECRETS)
def test_reading_and_writing_keys_asks_and_is_refused_unattended(desk: Desk, name: str):
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("patch_file", {"old_string": "a", "new_string": "b"}),
        ("search_files", {"pattern": "x"}),
    )
    for tool, more in calls:
        assert desk.verdict(tool, path=name, **more) == "ask"
        assert desk.verdict(tool, path=name, attended=False, **more) == "deny"
        assert desk.verdict(tool, path=str(desk.folder / name), **more) == "ask"


@pytest.mark.parametrize("name", [name for name in STARTUP if name != ".ssh/authorized_keys"])
def test_writing_startup_files_asks_and_reading_them_does_not(desk: Desk, name: str):
    assert desk.verdict("write_file", path=name, content="x") == "ask"
    assert desk.verdict("patch_file", path=name, old_string="a", new_string="b") == "ask"
    assert desk.verdict("write_file", path=name, content="x", attended=False) == "deny"
    assert desk.verdict("read_file", path=name) == "allow"


PARTS = ("HEAD", "config", "objects/x", "refs/x")


@pytest.mark.parametrize("last", PARTS)
def test_no_repository_comes_to_be_by_file_tools_unasked(desk: Desk, last: str):
    """Whichever file of it comes last, one that git needs asks."""
    names = [*(each for each in PARTS if each != last), last]
    written = [name for name in names if writes(desk, f"bare/{name}")]
    assert len(written) < len(PARTS)
    assert desk.verdict("write_file", path="bare/hooks/a", content="x") == "allow"
    make(desk.folder / "bare/HEAD")
    make(desk.folder / "bare/objects/x")
    for name in (*PARTS, "hooks/post-checkout", "commondir", "config.worktree"):
        assert desk.verdict("write_file", path=f"bare/{name}", content="x") == "ask"


def writes(desk: Desk, name: str) -> bool:
    allowed = desk.verdict("write_file", path=name, content="x") == "allow"
    if allowed:
        desk.write(name)
    return allowed


@pytest.mark.parametrize("name", HOME)
def test_no_approval_opens_the_home_of_hermes_jobs(desk: Desk, name: str):
    path = desk.home / name
    assert "off limits" in desk.read(path)
    assert "off limits" in desk.write(path)
    assert "off limits" in desk.patch(path, "needle", "x")
    assert "the needle" not in desk.search("needle", path=str(path))
    assert not path.exists() or path.read_text() == "the needle"


def test_results_and_skills_can_be_read_and_not_written(desk: Desk):
    for path in (desk.home / "results/r.txt", desk.home / "skills/a/SKILL.md"):
        assert "the needle" in desk.read(path)
        assert "off limits" in desk.write(path)
        assert "off limits" in desk.patch(path, "needle", "x")
    assert "off limits" in desk.write(desk.home / "skills/new/SKILL.md")


@pytest.mark.parametrize("target", [".ssh/id_rsa", "home/.env", "home/run/broker.json"])
@pytest.mark.parametrize(
    "way",
    [
        "symlink",
        "folder symlink",
        "chained symlink",
        "hard link",
        "dots",
        "proc root",
        "proc cwd",
        "capitals",
        "through results",
        "slashes",
    ],
)
def test_no_way_around_leads_there(desk: Desk, target: str, way: str):
    real = desk.folder / target
    path = str(desk.folder / "way")
    match way:
        case "symlink":
            Path(path).symlink_to(real)
        case "folder symlink":
            Path(path).symlink_to(real.parent)
            path += f"/{real.name}"
        case "chained symlink":
            Path(f"{path}1").symlink_to(real)
            Path(path).symlink_to(f"{path}1")
        case "hard link":
            Path(path).hardlink_to(real)
        case "dots":
            path = f"project/../keys/../{target}"
        case "proc root":
            path = f"/proc/self/root{real}"
        case "proc cwd":
            path = f"/proc/self/root/proc/self/root{real}"
        case "capitals":
            path = str(real.parent / real.name.upper())
            real.rename(path)
        case "through results":
            (desk.home / "results/l").symlink_to(desk.folder)
            path = f"{desk.home}/results/l/{target}"
        case _:
            path = str(real).replace("/", "//")
    asked = desk.verdict("read_file", path=path) == "ask"
    assert asked or "the needle" not in desk.read(path)
    assert desk.verdict("write_file", path=path, content="x") == "ask" or "off limits" in desk.write(path)


def test_a_link_that_changes_after_the_question_leads_nowhere(desk: Desk):
    """Given a plain file that nobody was asked about, when it becomes a link to a key, then it is refused."""
    context = desk.folder / "plain"
    context.symlink_to(desk.folder / ".ssh/id_rsa")
    paths = desk.paths
    real = paths.to_read("plain", str(desk.work))
    with pytest.raises(Exception, match="was not approved"):
        paths.check_approved(real, desk.context, writes=False)


def test_a_search_in_the_home_folder_passes_over_keys_and_over_hermes_jobs(desk: Desk):
    make(desk.folder / "notes.txt")
    os.link(desk.folder / ".ssh/id_rsa", desk.folder / "hard")
    found = desk.search("needle", mode="files", path=".")
    assert "notes.txt" in found
    for name in (*SECRETS, "hard", *(f"home/{each}" for each in HOME)):
        assert f"{name}\n" not in f"{found}\n"


@pytest.mark.parametrize("roots", [("/",), (".",), ("..",), ("~",)])
def test_it_applies_to_all_roots(tmp_path: Path, roots: tuple[str, ...]):
    desk = Desk(tmp_path.resolve(), roots=roots)
    make(desk.work / ".ssh/id_rsa")
    make(desk.home / ".env")
    assert desk.verdict("read_file", path=".ssh/id_rsa") == "ask"
    assert "the needle" not in desk.read(desk.home / ".env")


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/proc/1/environ", "/proc/self/task/1/environ", "/proc/1/mem"]
)
def test_the_environment_of_a_process_is_a_secret(tmp_path: Path, path: str):
    desk = Desk(tmp_path.resolve(), roots=("/",))
    assert desk.verdict("read_file", path=path) == "ask"


@pytest.mark.parametrize(
    "name",
    [
        "notes.md",
        ".env.example",
        "src/.gitignore",
        ".github/workflows/ci.yml",
        "config.yaml",
        ".ssh/known_hosts",
        ".ssh/id_rsa.pub",
        "git/hooks.md",
        "Makefile",
        "project/src/config",
        "project/src/hooks/useThing.ts",
        "project/objects/a.py",
        "project/.vscode/launch.json",
        "project/.claude/notes.txt",
    ],
)
def test_everyday_files_ask_nothing(desk: Desk, name: str):
    assert desk.verdict("read_file", path=name) == "allow"
    assert desk.verdict("write_file", path=name, content="x") == "allow"


@pytest.mark.parametrize(
    "name", ["app/.env", "web/.env.local", "config/master.key", "secrets.yaml", "certs/server-key.pem"]
)
def test_keys_beside_the_code_are_read_with_approval_and_written_without(desk: Desk, name: str):
    assert desk.verdict("read_file", path=name) == "ask"
    assert desk.verdict("write_file", path=name, content="x") == "allow"
