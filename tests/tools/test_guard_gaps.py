"""How files that run later came to stay: beside a living process, behind links, by a moved folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.tools import guard_ticks, sandbox
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE

from .support import wait_until
from .test_folder_guard import LAYERS, Project


def _project(folder: Path, layer: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setattr(sandbox, "layer", lambda: sandbox.Layer(name=layer))
    made = Project(folder.resolve())
    yield made
    made.processes.kill_where(lambda _record: True, wait=True)


@pytest.fixture(params=[layer for layer in LAYERS if layer != "off"])
def project(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    yield from _project(tmp_path, request.param, monkeypatch)


@pytest.fixture
def project_by_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    yield from _project(tmp_path, LANDLOCK, monkeypatch)


REPOSITORY = "mkdir -p docs/.git/objects docs/.git/refs; echo 'ref: refs/heads/x' > docs/.git/HEAD; "


@pytest.mark.slow
@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json", "docs/.git/config"])
def test_what_a_living_process_leaves_is_undone(project: Project, name: str) -> None:
    """It goes on after its turn, and no command runs: its keeper looks, within ten seconds."""
    (project.work / "docs").mkdir()
    before = REPOSITORY if "docs" in name else "mkdir -p .vscode; "
    process = project.start(
        f"{before}printf '[core]\\nfsmonitor = ./x\\n' > {name}\ntouch made\nexec sleep 600"
    )
    wait_until((project.work / "made").exists, "the process to have written")
    wait_until(lambda: "fsmonitor" not in _text(project.work / name), "the look of its keeper")
    found = project.processes.find(process.record.id)
    assert not found.is_over
    wait_until(lambda: project.processes.files.undone(process.record.id) != (), "the note")
    assert any(path.endswith(name) for path in project.processes.files.undone(process.record.id))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_a_process_without_a_guard_is_not_looked_at(tmp_path: Path) -> None:
    assert not guard_ticks.GuardTicks(str(tmp_path / "run/processes/x")).are_due()


@pytest.mark.parametrize("link", [".git/hooks/pre-commit", ".envrc", ".mcp.json", "app.code-workspace"])
def test_the_files_behind_links_are_guarded(project: Project, link: str) -> None:
    script = project.work / "scripts/check.sh"
    script.parent.mkdir()
    script.write_text("exit 0\n")
    script.chmod(0o755)
    (project.work / link).symlink_to(os.path.relpath(script, (project.work / link).parent))
    project.run("echo harm >> scripts/check.sh")
    assert script.read_text() == "exit 0\n"
    project.run("echo harm > scripts/other.sh")
    assert (project.work / "scripts/other.sh").exists()
    paths = PathPolicy(home=str(project.work.parent / "home"), user_home=str(project.work.parent / "person"))
    assert paths.kind_written(str(script)) == "startup"
    assert paths.kind_written(str(script.with_name("other.sh"))) is None


UNDONE = """
    mise.prod.toml .mise.prod.toml .config/mise/config.prod.toml .config/mise/conf.d/a.toml
    .shadowenv.d/1.lisp app.code-workspace .lite_project.lua lefthook-local.yml .openhands/setup.sh
    .github/hooks/a.json .windsurf/hooks.json"""
STAYING = """
    rust-toolchain.toml .cargo/config.toml .yarnrc.yml .bazelrc .mvn/jvm.config .Rprofile .pdbrc lefthook.toml
    .direnv/flake.rc mise.md config/mise/conf.d/a.toml .github/workflows/a.yml"""


def test_what_runs_in_an_entered_folder_is_undone_also_by_patterns_of_names(project: Project) -> None:
    lines = (f"mkdir -p $(dirname {name}); echo harm > {name}" for name in f"{UNDONE} {STAYING}".split())
    (project.work / "write.sh").write_text("\n".join(lines))
    outcome = project.run("sh write.sh")
    assert [name for name in UNDONE.split() if (project.work / name).exists()] == []
    assert [name for name in STAYING.split() if not (project.work / name).exists()] == []
    assert "The change was undone" in outcome.content


def test_one_that_was_there_is_as_it_was(project: Project) -> None:
    (project.work / "app.code-workspace").write_text("{}")
    (project.work / "write.sh").write_text("echo harm > app.code-workspace")
    project.run("sh write.sh")
    assert (project.work / "app.code-workspace").read_text() == "{}"


@pytest.mark.parametrize("name", ["e\nv", "e\\nv", "e\\\\", "e\n+ v", "e\udcff\r\nv"])
def test_the_name_of_a_folder_may_hold_any_character(project: Project, name: str) -> None:
    project.git("init", "-q", name)
    hook = project.work / name / ".git/hooks/post-commit"
    (project.work / "write.sh").write_text(
        'for each in e*; do echo harm > "$each/.git/hooks/post-commit"; done'
    )
    outcome = project.run("sh write.sh; echo done")
    assert outcome.content.startswith("done") or "Read-only" in outcome.content
    assert not hook.exists()
    assert all(
        line.startswith("[") for line in outcome.content.splitlines() if "The change was undone" in line
    )
    assert project.run("echo seen > made", workdir=project.work / name).ok
    assert (project.work / name / "made").exists()


@pytest.mark.skipif(
    sandbox.layer().name not in (NAMESPACE, LANDLOCK), reason="this machine has no layer of the sandbox"
)
def test_nothing_is_moved_from_a_temporary_folder_into_the_project(project_by_rules: Project) -> None:
    """A folder that is renamed keeps the times of what is in it; a copy is new, and seen."""
    code = "import os, tempfile; t = tempfile.mkdtemp(); os.mkdir(f'{t}/a'); os.rename(f'{t}/a', 'a')"
    assert "Invalid cross-device link" in project_by_rules.run(f'python3 -c "{code}"').content
    everyday = "t=$(mktemp -d) && mkdir $t/b $t/c && mv $t/b $t/c/ && mv $t/c . && ls c && mv c d && ls d"
    done = project_by_rules.run(everyday)
    assert done.ok, done.content
