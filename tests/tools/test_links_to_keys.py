"""A link of the folder that leads to a key shows it to no program: not to git, not to what reads by name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.tools.glob_matches import link_to_keys
from hermes_jobs.tools.sandbox import Mode

from .keys_support import Person

KEY = ".ssh/id_ed25519"
IN_GIT = (
    "objects/info/alternates",
    "info/grafts",
    "shallow",
    "packed-refs",
    "rebase-merge/onto",
    "worktrees/w/locked",
    "modules/sub/objects/info/alternates",
)
LINES = ("git fetch", "git fetch; git status", "git pull 2>&1 | head -3", "git push --dry-run")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    yield from _person(tmp_path, "on")


def _person(folder: Path, mode: Mode) -> Iterator[Person]:
    one = Person(folder, mode=mode)
    one.repository()
    yield one
    one.close()


def _link(person: Person, name: str, to: str = KEY) -> None:
    path = person.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(person.folder / to)


@pytest.mark.parametrize("name", IN_GIT)
def test_git_prints_no_key_through_a_link_in_its_folder(person: Person, name: str) -> None:
    _link(person, f".git/{name}")
    for line in LINES:
        assert "NEEDLE" not in person.run(line, attended=False).content
        assert name in person.verdict(line).rule


ALTERNATES = "objects/info/alternates"


def _dep(person: Person) -> None:
    """Another repository in the project, with a link to a key by which git finds its objects."""
    person.write("dep/f", "x")
    person.git("init", "-q", folder=person.work / "dep")
    person.git("add", "f", folder=person.work / "dep")
    person.git("commit", "-qm", "x", folder=person.work / "dep")
    _link(person, f"dep/.git/{ALTERNATES}")


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    "text", ["../../dep/.git/objects\n", "# a\n\n../../b\n", '"../../dep/.git/objec\\ts"\n']
)
def test_the_repositories_that_give_objects_are_looked_at(person: Person, line: str, text: str) -> None:
    _dep(person)
    person.write("b/info/alternates", "../dep/.git/objects\n")
    person.write(f".git/{ALTERNATES}", text)
    assert "NEEDLE" not in person.run(line, attended=False).content
    assert ALTERNATES.removeprefix("objects/") in person.verdict(line).rule


def test_a_link_to_a_folder_of_the_project_in_a_repository_is_followed(person: Person) -> None:
    _link(person, "x/alternates")
    shutil.rmtree(person.work / ".git/objects/info")
    (person.work / ".git/objects/info").symlink_to("../../x")
    assert "NEEDLE" not in person.run("git fetch", attended=False).content
    assert ALTERNATES in person.verdict("git fetch").rule


@pytest.mark.parametrize("line", ["git fetch; git status", "git add -A; git status; git fetch", "git pull"])
def test_the_links_of_a_repository_in_the_index_count(person: Person, line: str) -> None:
    _dep(person)
    if "add" not in line:
        (person.work / f"dep/.git/{ALTERNATES}").unlink()
        person.git("add", "dep")
        _link(person, f"dep/.git/{ALTERNATES}")
    assert "NEEDLE" not in person.run(line, attended=False).content
    assert ALTERNATES in person.verdict(line).rule
    assert person.verdict("git fetch").decision == "allow"  # it does not go there


def test_a_linked_worktree_has_the_links_of_its_repository(person: Person) -> None:
    tree = person.work / "tree"
    person.git("worktree", "add", "-q", str(tree))
    _link(person, f".git/{ALTERNATES}")
    assert ALTERNATES in person.verdict("git -C tree fetch").rule


@pytest.mark.parametrize(
    ("to", "line"),
    [
        ("/proc/self/cwd", "cat p/k"),
        ("/proc/self", "head p/cwd/k"),
        ("/proc/thread-self/root", "cat < p/proc/self/cwd/k"),
        ("/dev/fd/..", "git log -1; grep -n x p/cwd/k"),
    ],
)
def test_a_link_to_the_folders_of_a_process_leads_to_any_key(person: Person, to: str, line: str) -> None:
    """The worker's own `/proc/self` says nothing of where that of a command leads."""
    _link(person, "k")
    (person.work / "p").symlink_to(to)
    for user in ("git fetch", "kubectl get pods"):
        assert person.policy.reach(f"{user}; {line}", person.context())[1].places == ()
    (person.work / ".git/shallow").symlink_to("/proc/self/cwd/k")
    assert "shallow" in person.verdict("git fetch").rule


@pytest.mark.parametrize("to", [".ssh", ""])
def test_a_link_to_a_folder_with_keys_counts(person: Person, to: str) -> None:
    _link(person, ".git/objects/aa", to)
    assert "objects/aa" in person.verdict("git fetch").rule


@pytest.mark.parametrize(
    ("line", "name", "to"),
    [
        ("helm template .", "templates/x.yaml", ".kube/config"),
        ("helm lint ./c", "c/templates/x.yaml", ".kube/config"),
        ("npm view left-pad", "package.json", ".npmrc"),
        ("docker build .", "Dockerfile", ".docker/config.json"),
    ],
)
def test_programs_with_keys_read_no_file_of_the_folder_through_a_link(
    person: Person, line: str, name: str, to: str
) -> None:
    _link(person, name, to)
    assert name.removeprefix("c/") in person.verdict(line).rule
    assert person.verdict("git fetch").decision == "allow"  # it does not read through it


@pytest.mark.parametrize("line", ["helm template c", "helm lint ./c", "cd c && helm template ."])
@pytest.mark.parametrize("name", ["c/templates", "c/charts/sub"])
def test_helm_goes_through_links_to_folders(person: Person, line: str, name: str) -> None:
    """Helm reads a chart by a walk that follows links (`internal/sympath` of its source)."""
    _link(person, "real/x.yaml", ".kube/config")
    person.write("c/Chart.yaml", "name: c\n")
    (person.work / name).parent.mkdir(parents=True, exist_ok=True)
    (person.work / name).symlink_to(person.work / "real")
    (person.work / "real/round").symlink_to(person.work)
    assert "x.yaml" in person.verdict(line).rule
    assert person.verdict(line, attended=False).decision == "deny"


def test_programs_that_read_nothing_of_the_folder_see_keys_however_large_it_is(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_to_keys, "__defaults__", (10,))
    for number in range(20):
        person.write(f"node_modules/p{number}", "")
    for line in ("kubectl get pods", "aws s3 ls", "npm view left-pad"):
        assert person.verdict(line, attended=False).decision == "allow", line


@pytest.mark.parametrize("line", ["git log -1", "git status", "git commit --allow-empty -m x"])
def test_without_a_sandbox_git_follows_no_such_link(tmp_path: Path, line: str) -> None:
    for person in _person(tmp_path, "off"):
        _link(person, ".git/objects/info/alternates")
        assert "NEEDLE" not in person.run(line, attended=False).content
        assert person.verdict(line, attended=False).decision == "deny"


def test_links_within_the_folder_and_to_programs_are_everyday(person: Person) -> None:
    person.write("lib/a.js", "a")
    (person.work / "node_modules").mkdir()
    (person.work / "node_modules/a.js").symlink_to("../lib/a.js")
    (person.work / ".venv/bin").mkdir(parents=True)
    (person.work / ".venv/bin/python").symlink_to("/usr/bin/python3")
    (person.folder / "datasets").mkdir()
    (person.work / "data").symlink_to(person.folder / "datasets")
    (person.work / "gone").symlink_to("nowhere")
    assert person.verdict("git fetch", attended=False).decision == "allow"
    assert "NEEDLE" not in person.run("git fetch", attended=False).content
