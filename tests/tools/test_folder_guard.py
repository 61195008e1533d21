"""Files of the working folder that run by themselves later: no command leaves one without an approval."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hermes_jobs.agent.tools import sandbox
from hermes_jobs.agent.tools.path_policy import PathPolicy
from hermes_jobs.agent.tools.policy import CommandPolicy
from hermes_jobs.agent.tools.sandbox import Layer, Sandbox
from hermes_jobs.agent.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE
from hermes_jobs.agent.tools.terminal import Terminal, TerminalOptions
from hermes_jobs.engine.ports import ToolOutcome

from .support import Switch, context_in

LAYERS = [*{NAMESPACE: [NAMESPACE, LANDLOCK], LANDLOCK: [LANDLOCK]}.get(sandbox.layer().name, []), NONE]
GIT = ("-c", "user.name=a", "-c", "user.email=a@b")


class Project:
    """A repository with a commit, a nested one and a remote, beside a home of hermes-jobs."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "project"
        paths = PathPolicy(home=str(folder / "home"), user_home=str(folder / "person"))
        (folder / "person").mkdir()
        self.git("init", "-q", "-b", "main", str(self.work), cwd=folder)
        self.git("commit", "-q", "--allow-empty", "-m", "first")
        self.git("branch", "other")
        self.git("init", "-q", "-b", "main", "nested")
        self.git("clone", "-q", str(self.work), str(folder / "upstream"), cwd=folder)
        self.git("branch", "other", cwd=folder / "upstream")
        self.git("remote", "add", "origin", str(folder / "upstream"))
        self.git("fetch", "-q", "origin")
        options = TerminalOptions(
            policy=CommandPolicy(paths=paths), sandbox=Sandbox(paths=paths), environ=os.environ, timeout=60
        )
        self._terminal = Terminal(options)
        self.quarantine = folder / "home" / "quarantine"

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *GIT, *arguments], cwd=cwd or self.work, check=True, capture_output=True)

    def run(self, command: str, *, approved: bool = False, workdir: Path | None = None) -> ToolOutcome:
        context = context_in(workdir or self.work, approved=approved)
        return self._terminal.run(context, Switch(), command)

    def guarded(self) -> dict[str, bytes]:
        """The files that would run, by path."""
        places = [self.work / name for name in (".git/hooks", "nested/.git/hooks", ".idea", ".vscode", "new")]
        files = [path for place in places for path in place.rglob("*") if path.is_file()]
        files += [
            self.work / name for name in (".envrc", ".git/config", "nested/.git/config", ".git/commondir")
        ]
        is_ours = [path for path in files if path.is_file() and path.suffix != ".sample"]
        return {str(path.relative_to(self.work)): path.read_bytes() for path in is_ours}


@pytest.fixture(params=LAYERS)
def project(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))
    return Project(tmp_path.resolve())


HARM = (
    "echo evil > .git/hooks/post-commit; chmod +x .git/hooks/post-commit",
    "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-push",
    "mv .git .g; mkdir -p .g/hooks; echo evil > .g/hooks/pre-push; mv .g .git",
    "echo evil > nested/.git/hooks/post-checkout",
    "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
    "printf '[core]\\n\\tfsmonitor = evil\\n' > .git/new; mv .git/new .git/config",
    "printf '[core]\\n\\tsshCommand = evil\\n' >> nested/.git/config",
    "echo evil > .git/commondir",
    "echo evil > .envrc",
    "mkdir -p .vscode; echo evil > .vscode/tasks.json",
    "mkdir -p .idea/runConfigurations; echo evil > .idea/runConfigurations/x.xml",
    "(setsid sh -c '(echo evil > .git/hooks/post-merge) &' &)",
)


@pytest.mark.parametrize("harm", HARM)
def test_no_command_leaves_files_that_run_later(project: Project, harm: str) -> None:
    """Given a script of the project, which no rule on text can judge, when it runs, then nothing is left."""
    before = project.guarded()
    (project.work / "build.sh").write_text(harm)
    project.run("bash build.sh")
    assert project.guarded() == before


def test_a_hook_in_a_repository_that_the_command_made_is_moved_away_with_a_note(project: Project) -> None:
    script = "git init -q new; echo evil > new/.git/hooks/pre-commit; git -C new config core.fsmonitor evil"
    (project.work / "build.sh").write_text(script)
    done = project.run("bash build.sh")
    assert "new/.git/hooks/pre-commit" in done.content
    assert "quarantine" in done.content
    assert not any(b"evil" in content for content in project.guarded().values())
    assert any(path.read_bytes() == b"evil\n" for path in project.quarantine.rglob("pre-commit"))


EVERYDAY = (
    "echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x",
    "git checkout -q -b topic && git checkout -q main && git branch -d topic",
    "git checkout -q -b tracking origin/other",
    "git remote add second ../upstream && git remote -v",
    "git stash list && git gc -q && git status",
    "git init -q fresh && cd fresh && git status",
)


@pytest.mark.parametrize("command", EVERYDAY)
def test_everyday_work_with_git_goes_on(project: Project, command: str) -> None:
    done = project.run(command)
    assert done.ok, done.content


def test_an_approved_command_may_write_hooks(project: Project) -> None:
    assert project.run("echo '#!/bin/sh' > .git/hooks/pre-push", approved=True).ok
    assert (project.work / ".git/hooks/pre-push").exists()


def test_commits_are_made_in_subfolders_and_linked_worktrees(project: Project, tmp_path: Path) -> None:
    (project.work / "sub").mkdir()
    project.git("worktree", "add", "-q", str(tmp_path / "linked"), "other")
    for folder in (project.work / "sub", tmp_path.resolve() / "linked"):
        done = project.run(
            "echo x > g && git add g && git -c user.name=a -c user.email=a@b commit -qm y", workdir=folder
        )
        assert done.ok, done.content


def test_a_pointer_to_another_repository_opens_nothing(project: Project, tmp_path: Path) -> None:
    other = tmp_path.resolve() / "elsewhere"
    project.git("init", "-q", str(other), cwd=tmp_path)
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / ".git").write_text(f"gitdir: {other}/.git\n")
    plan = Sandbox(paths=PathPolicy(home=str(tmp_path / "home"), user_home=str(tmp_path / "person"))).enclose(
        str(folder), sandbox.SandboxReach(), {}, scratch="s"
    )
    assert f"writable {other}" not in plan.plan
