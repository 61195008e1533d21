"""Files of the working folder that run by themselves later: no command leaves one without an approval."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hermes_jobs.kernel.engine.ports import ToolOutcome
from hermes_jobs.kernel.events import TurnFailed
from hermes_jobs.system.clock import SystemClock
from hermes_jobs.tools import guarded_files, made_folders, sandbox
from hermes_jobs.tools.background import BackgroundProcess, BackgroundProcesses
from hermes_jobs.tools.folder_guard import Guard
from hermes_jobs.tools.git_places import TICK_NS, gitlinks
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.process_endings import ProcessEndings
from hermes_jobs.tools.sandbox import Layer, Mode, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach
from hermes_jobs.tools.sandbox_plan import LANDLOCK, NAMESPACE, NONE
from hermes_jobs.tools.terminal import Terminal, TerminalOptions
from tests.tables import sampled

from .support import Switch, context_in, wait_until

LAYERS = [
    *{NAMESPACE: [NAMESPACE, LANDLOCK], LANDLOCK: [LANDLOCK]}.get(sandbox.layer().name, []),
    NONE,
    "off",
]
NOBODY = 65534
GIT = ("-c", "user.name=a", "-c", "user.email=a@b")


class Project:
    """A repository with a commit, a nested one and a remote, beside a home of hermes-jobs."""

    def __init__(self, folder: Path, mode: Mode = "auto") -> None:
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
        self.processes = BackgroundProcesses(folder / "home" / "run" / "processes")
        self.options = TerminalOptions(
            policy=CommandPolicy(paths=paths),
            sandbox=Sandbox(paths=paths, mode=mode),
            environ=os.environ,
            timeout=60,
            background=self.processes,
        )
        self._terminal = Terminal(self.options)
        self.quarantine = folder / "home" / "quarantine"

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *GIT, *arguments], cwd=cwd or self.work, check=True, capture_output=True)

    def run(self, command: str, *, approved: bool = False, workdir: Path | None = None) -> ToolOutcome:
        context = context_in(workdir or self.work, approved=approved)
        return self._terminal.run(context, Switch(), command)

    def start(self, command: str) -> BackgroundProcess:
        """Start a script of the project in the background."""
        (self.work / "watch.sh").write_text(command)
        started = self._terminal.run(context_in(self.work), Switch(), "bash watch.sh", background=True)
        return self.find(started)

    def find(self, started: ToolOutcome) -> BackgroundProcess:
        found = re.search(r"\bp[0-9a-z]{8,}\b", started.content)
        assert found is not None, started
        return self.processes.find(found[0])

    def ended(self, process: BackgroundProcess) -> BackgroundProcess:
        wait_until(lambda: self.processes.find(process.record.id).is_over, "its end")
        return self.processes.find(process.record.id)

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
def project(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    is_off = request.param == "off"  # where the machine has a layer, and the person wants none
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=LAYERS[0] if is_off else request.param))
    made = Project(tmp_path.resolve(), "off" if is_off else "auto")
    yield made
    made.processes.kill_where(lambda _record: True, wait=True)


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
    "mkdir -p lib; echo 'gitdir: ../evil' > lib/.git",
    "for n in $(seq 300); do echo > .git/hooks/a$n; done; echo evil > .git/hooks/pre-commit",
    "printf '[core] fsmonitor = evil\\n' >> .git/config",
    "printf '[include]\\n\\tpath = evil\\n' >> .git/config",
)


@pytest.mark.parametrize("harm", sampled(HARM, 4, in_ci=3))
def test_no_command_leaves_files_that_run_later(project: Project, harm: str) -> None:
    """Given a script of the project, which no rule on text can judge, when it runs, then nothing is left."""
    before = project.guarded()
    (project.work / "build.sh").write_text(harm)
    project.run("bash build.sh")
    assert project.guarded() == before


UNLISTED = (
    "git init -q new; echo evil > new/.git/hooks/pre-commit; chmod 311 new/.git/hooks",
    "git init -q new; echo evil > new/.git/hooks/pre-commit; chmod 311 new/.git/hooks new/.git new",
    "mkdir -p .idea; echo evil > .idea/x.xml; chmod 311 .idea",
)


@contextmanager
def somebody(folder: Path) -> Iterator[None]:
    """Work as a user who cannot read everything; the folder becomes theirs."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.lchown(path, NOBODY, NOBODY)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.parametrize("harm", UNLISTED)
def test_a_folder_that_nobody_can_list_hides_nothing(harm: str) -> None:
    """git runs a hook by its name, in a folder that it cannot list."""
    with TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made).resolve()
        work = folder / "work"
        work.mkdir()
        with somebody(folder):
            before = guarded(work, folder / "home")
            words = ["bash", "-p", "-c", harm]  # `-p`: as that user
            subprocess.run(words, cwd=work, env={**os.environ, "HOME": made}, check=True)
            undone = before.restore()
        assert len(undone) == 1
        kept = folder / "home" / "quarantine"
        files = (path for path in folder.rglob("*") if path.is_file() and not path.is_relative_to(kept))
        assert [path for path in files if b"evil" in path.read_bytes()] == []


def test_a_folder_that_was_closed_before_stays_closed() -> None:
    with TemporaryDirectory(dir="/tmp") as made:
        folder = Path(made).resolve()
        work = folder / "work"
        closed = work / "closed"
        closed.mkdir(parents=True)
        with somebody(folder):
            closed.chmod(0o311)
            begun = time.time_ns()
            wait_until(lambda: guarded(work, folder / "home").at > begun, "the clock of the file system")
            before = guarded(work, folder / "home")
            (work / "a.txt").touch()
            assert before.restore() == ()
            assert closed.stat().st_mode & 0o777 == 0o311
            closed.chmod(0o700)


@pytest.mark.parametrize("place", ["tools/bin", "person/.config/autostart"])
def test_a_protected_place_that_was_missing_stays_so(tmp_path: Path, place: str) -> None:
    """Given a folder of PATH, or of programs that start by themselves, that is not there yet."""
    work = tmp_path.resolve()
    paths = PathPolicy(home=str(work / "home"), user_home=str(work / "person"))
    roots = [str(work)]
    guard = Sandbox(paths=paths).guard(roots, guarded_files.find(roots), path=f"{work / 'tools/bin'}:/bin")
    evil = work / place / "evil"
    evil.parent.mkdir(parents=True)
    evil.write_text("evil")
    (work / "tools" / "fine").parent.mkdir(exist_ok=True)
    (work / "tools" / "fine").touch()
    assert guard.restore() == (str(evil),)
    assert not evil.exists()
    assert (work / "tools" / "fine").exists()


def test_the_programs_of_a_new_environment_stay_though_they_were_on_the_path(tmp_path: Path) -> None:
    work = tmp_path.resolve()
    programs = work / ".venv" / "bin"
    paths = PathPolicy(home=str(work / "home"), user_home=str(work / "person"))
    guard = Sandbox(paths=paths).guard([str(work)], guarded_files.find([str(work)]), path=str(programs))
    programs.mkdir(parents=True)
    (programs / "python").touch()
    (work / ".venv" / "pyvenv.cfg").touch()
    assert guard.restore() == ()


def test_a_repository_is_not_replaced_by_a_link_to_another(project: Project) -> None:
    (project.work / "build.sh").write_text("mv .git .g; echo evil > .g/hooks/pre-push; ln -s .g .git")
    project.run("bash build.sh")
    assert not (project.work / ".git").is_symlink()
    assert not (project.work / ".git/hooks/pre-push").exists()


TODO = ".git/rebase-merge/git-rebase-todo"


@pytest.mark.parametrize(
    "planted",
    [
        f"mkdir .git/rebase-merge; echo ' exec evil' > {TODO}",
        f"mkdir .git/rebase-merge; echo 'exec evil' > {TODO}; truncate -s 2M {TODO}",
        f"mkdir .git/rebase-merge; echo 'x evil' > todo; ln -s ../../todo {TODO}",
        "mkdir state; echo 'x evil' > state/git-rebase-todo; ln -s ../state .git/rebase-merge",
    ],
)
def test_no_command_plants_what_a_rebase_would_run(project: Project, planted: str) -> None:
    (project.work / "build.sh").write_text(planted)
    assert "quarantine" in project.run("bash build.sh").content
    assert not (project.work / TODO).exists()


@pytest.mark.parametrize(
    "script",
    [
        "git init -q sub; git -C sub config core.worktree $HOME",
        "git init -q sub; git -C sub config core.worktree ../..",
        "git config core.worktree ../other",
        "mkdir 'w;x'; echo 'gitdir: ../.git' > 'w;x/.git'; printf '[core]\\nworktree=../w;x' >> .git/config",
    ],
)
def test_no_command_has_a_repository_write_elsewhere(project: Project, script: str) -> None:
    """What a person resets or switches in a repository would be written where it says."""
    (project.work / "other").mkdir()
    (project.work / "build.sh").write_text(script)
    project.run("bash build.sh")
    settings = [project.work / ".git/config", project.work / "sub/.git/config"]
    assert [each for each in settings if each.exists() and "worktree" in each.read_text()] == []


NAMED = {
    "build/hooks": "mkdir -p build/hooks; echo evil > build/hooks/pre-commit",
    "tools": "echo evil > tools/pre-push; echo fine > tools/more",
    "other/hooks": "mkdir -p o/hooks; ln -s o other; echo evil > o/hooks/update",
    ".": "echo evil > pre-commit; echo fine > more",
}


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("place", NAMED)
def test_no_command_leaves_hooks_where_settings_say_that_they_are(
    project: Project, place: str, own: bool
) -> None:
    settings = project.work.parent / "person/.gitconfig" if own else project.work / ".git/config"
    with settings.open("a") as file:
        file.write(f'[core] hooksPath = "{place}" # of the team\n')
    (project.work / "tools").mkdir()
    (project.work / "tools/pre-push").write_text("mine")
    (project.work / "build.sh").write_text(NAMED[place])
    done = project.run("bash build.sh")
    left = [path for path in project.work.rglob("*") if path.is_file() and path.name != "build.sh"]
    assert [path for path in left if path.read_bytes() == b"evil\n"] == [], done.content
    assert (project.work / "tools/pre-push").read_text() == "mine"
    assert any(path.name == "more" for path in left) == ("more" in NAMED[place])


@pytest.mark.parametrize(
    ("section", "planted"),
    [
        ("[include]\npath = {work}/shared\n", "[core]\n\tfsmonitor = evil\n"),
        ('[includeIf "gitdir:~/"]\npath = {work}/shared\n', "[core]\n\tfsmonitor = evil\n"),
        ("[include]\npath = {work}/team\n", "[core]\n\tsshCommand = evil\n"),
    ],
)
@pytest.mark.parametrize("own", [True, False])
def test_no_command_leaves_programs_in_settings_that_settings_include(
    project: Project, section: str, planted: str, own: bool
) -> None:
    settings = project.work.parent / "person/.gitconfig" if own else project.work / ".git/config"
    with settings.open("a") as file:
        file.write(section.format(work=project.work))
    (project.work / "team").write_text("[include]\npath = ./shared\n")
    (project.work / "shared").write_text("[user]\nname = Ann\n")
    (project.work / "build.sh").write_text(f"rm shared; printf '{planted}' > shared".replace("\n", "\\n"))
    project.run("bash build.sh")
    assert (project.work / "shared").read_text() == "[user]\nname = Ann\n"
    (project.work / "build.sh").write_text("printf '[user]\\nname = Bea\\n' > shared")
    assert "quarantine" not in project.run("bash build.sh").content


def test_a_submodule_keeps_its_working_folder(project: Project) -> None:
    """Given a repository to be added as a submodule, when it is, then git works in it."""
    project.git("commit", "-q", "--allow-empty", "-m", "x", cwd=project.work / "nested")
    done = project.run(f"git -c protocol.file.allow=always submodule add {project.work}/nested deep/in")
    assert "quarantine" not in done.content
    assert "worktree" in (project.work / ".git/modules/deep/in/config").read_text()
    assert "clean" in project.run("git -C deep/in status").content


def test_a_rebase_goes_on_over_several_commands(project: Project) -> None:
    """Given a rebase with a command in its list that the person has begun, when the agent goes on, then it
    does."""
    for name in ("a", "b"):
        (project.work / name).touch()
        project.git("add", name)
        project.git("commit", "-qm", name)
    environ = ("-c", "sequence.editor=sed -i 's/^pick/edit/; $a exec touch made'")
    project.git(*environ, "rebase", "-qi", "HEAD~2")
    assert "exec touch made" in (project.work / TODO).read_text()
    for _ in range(2):
        assert "quarantine" not in project.run("git -c user.name=a -c user.email=b rebase --continue").content
    assert (project.work / "made").exists()
    assert not (project.work / TODO).exists()


def test_a_hook_in_a_repository_that_the_command_made_is_moved_away_with_a_note(project: Project) -> None:
    script = "git init -q new; echo evil > new/.git/hooks/pre-commit; git -C new config core.fsmonitor evil"
    (project.work / "build.sh").write_text(script)
    done = project.run("bash build.sh")
    assert "new/.git/hooks/pre-commit" in done.content
    assert "quarantine" in done.content
    assert not any(b"evil" in content for content in project.guarded().values())
    assert any(path.read_bytes() == b"evil\n" for path in project.quarantine.rglob("pre-commit"))


HARM_LATER = (
    *HARM[:1],
    *HARM[3:5],
    *HARM[7:11],
    "(setsid sh -c 'sleep 0.2; echo evil > .git/hooks/post-merge' &) ; (setsid sh -c 'echo evil > .envrc' &)",
)


@pytest.mark.parametrize("harm", sampled(HARM_LATER, 4, in_ci=3))
def test_no_background_process_leaves_files_that_run_later(project: Project, harm: str) -> None:
    before = project.guarded()
    process = project.ended(project.start(f"{harm}\nexit 0"))
    assert process.describe_state() == "ended with exit code 0"
    assert project.guarded() == before


HARM_AND_WAIT = (
    "for f in .envrc .git/hooks/pre-push .git/commondir; do echo evil > $f; done; touch made; sleep 1000"
)


def test_what_a_running_process_has_made_is_undone_before_the_next_command(project: Project) -> None:
    before = project.guarded()
    project.start(HARM_AND_WAIT)
    wait_until((project.work / "made").exists, "the harm")
    done = project.run("cat .envrc")
    assert "evil\n" not in done.content
    assert ".envrc" in done.content
    assert "quarantine" in done.content
    assert project.guarded() == before


def test_what_a_running_process_has_made_is_undone_at_the_end_of_the_turn(project: Project) -> None:
    before = project.guarded()
    process = project.start(HARM_AND_WAIT)
    wait_until((project.work / "made").exists, "the harm")
    endings = ProcessEndings(project.processes.files.folder, lambda: project.processes, SystemClock())
    endings.follow([TurnFailed(turn="t1", kind="x", message="x")], process.record.session)
    assert project.guarded() == before
    assert not project.processes.find(process.record.id).is_over


def test_what_a_killed_keeper_has_left_is_undone_at_the_next_look(project: Project) -> None:
    before = project.guarded()
    process = project.start(HARM_AND_WAIT)
    wait_until((project.work / "made").exists, "the harm")
    os.kill(process.status.keeper, signal.SIGKILL)
    assert project.ended(process).describe_state() == "killed with its supervisor"
    assert project.guarded() == before
    assert any(path.endswith(".envrc") for path in project.processes.files.undone(process.record.id))


def test_what_a_command_of_a_killed_worker_has_left_is_undone_by_the_next_one(project: Project) -> None:
    """Given a worker that is killed while its command runs, when another one starts, then it is undone."""
    before = project.guarded()
    child = os.fork()
    if child == 0:
        try:
            roots = project.options.sandbox.guarded_roots(str(project.work))
            guard = project.options.sandbox.guard(roots, guarded_files.find(roots))
            assert guard is not None
            with project.processes.guards.held(guard):
                (project.work / ".envrc").write_text("evil")
                (project.work / ".git/hooks/pre-push").write_text("evil")
                os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    assert project.guarded() != before
    assert len(project.processes.check_guards()) == 2
    assert project.guarded() == before


def test_what_a_person_approves_while_a_process_runs_stays(project: Project) -> None:
    process = project.start("sleep 1000")
    assert project.run("echo '#!/bin/sh' > .git/hooks/pre-push; echo x > .envrc", approved=True).ok
    project.run("true")
    project.processes.kill(process)
    assert (project.work / ".git/hooks/pre-push").exists()
    assert (project.work / ".envrc").exists()


def test_a_background_process_of_git_works(project: Project) -> None:
    started = project._terminal.run(
        context_in(project.work), Switch(), "git clone -q . copy && git fetch -q .", background=True
    )
    process = project.ended(project.find(started))
    assert process.describe_state() == "ended with exit code 0"
    assert (project.work / "copy/.git/config").exists()


EVERYDAY = (
    "echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm x",
    "git checkout -q -b topic && git checkout -q main && git branch -d topic",
    "git checkout -q -b tracking origin/other",
    "git remote add second ../upstream && git remote -v",
    "git stash list && git gc -q && git status",
    "git init -q fresh && cd fresh && git status",
)

SETTINGS = {
    "git config user.name Ann && git config pull.rebase true": "user.name",
    "git remote add second ../upstream": "remote.second.url",
    "git remote set-url origin https://example.org/x.git": "remote.origin.url",
    "git config commit.gpgsign true": "commit.gpgsign",
    "git checkout -q -b tracking origin/other": "branch.tracking.merge",
    "git clone -q --bare . b && git -c protocol.file.allow=always submodule add -q $PWD/b lib": (
        "submodule.lib.url"
    ),
    "git sparse-checkout set docs": "core.sparsecheckout",
    "git worktree add -q linked": "",
}


@pytest.mark.parametrize("command", sampled(SETTINGS, 4, in_ci=3))
def test_settings_that_name_no_program_stay(project: Project, command: str) -> None:
    done = project.run(command)
    assert done.ok, done.content
    if key := SETTINGS[command]:
        project.git("config", key)
    if "lib" in command:
        project.git("status", cwd=project.work / "lib")
    if "linked" in command:
        project.git("status", cwd=project.work / "linked")


@pytest.mark.parametrize("command", sampled(EVERYDAY, 3, in_ci=3))
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
        str(folder), SandboxReach(), {}, scratch="s"
    )
    assert f"writable {other}" not in plan.plan


def guarded(work: Path, home: Path) -> Guard:
    return Guard.of([str(work)], guarded_files.find([str(work)]), str(home))


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one folder more than are searched: the last one has repositories, and more."""
    monkeypatch.setattr(guarded_files, "MAX_FOLDERS", 4)
    work = tmp_path / "work"
    for name in ("a", "b", "c", "d"):
        (work / name).mkdir(parents=True)
    subprocess.run(["git", "init", "-q", work / "d"], check=True)
    (work / "d" / ".git" / "hooks").mkdir(exist_ok=True)
    (work / "d" / ".git" / "hooks" / "pre-push").write_text("#!/bin/sh")
    (work / "d" / ".envrc").write_text("export A=1")
    grown_old(work / "d" / ".envrc")
    return work


def grown_old(path: Path) -> None:
    """Wait until a file was there before what is done next."""
    wait_until(lambda: not guarded_files.changed_since(str(path), time.time_ns() - 2 * TICK_NS), "age")


def test_what_only_comes_into_view_is_not_undone(large: Path, tmp_path: Path) -> None:
    """Given a folder that is too large to be searched whole, when a folder goes, then its others stay."""
    guard = guarded(large, tmp_path / "home")
    assert not guard.whole
    (large / "a").rmdir()
    assert guard.restore() == ()
    assert (large / "d" / ".envrc").read_text() == "export A=1"
    assert (large / "d" / ".git" / "hooks" / "pre-push").exists()


def test_what_comes_into_view_and_is_new_is_undone(large: Path, tmp_path: Path) -> None:
    guard = guarded(large, tmp_path / "home")
    (large / "a").rmdir()
    hook = large / "d" / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh")
    assert guard.restore() == (str(hook),)
    assert (large / "d" / ".envrc").exists()


def test_what_is_new_in_a_folder_that_was_searched_is_undone_whatever_its_age(
    large: Path, tmp_path: Path
) -> None:
    guard = guarded(large, tmp_path / "home")
    (large / "d" / ".git").rename(large / "b" / ".git")
    assert str(large / "b" / ".git" / "hooks" / "pre-push") in guard.restore()


def submodule(work: Path, name: str, *, evil: bool, shell: str = "") -> str:
    """What makes a repository in a folder that is not searched, and names it in the index of the top one."""
    settings = "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config; " if evil else ""
    return (
        f"set -e; mkdir -p {name}; cd {name}; git init -q .; "
        "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
        f"h=$(git rev-parse HEAD); {settings}cd {work}; {shell}"
        f"git update-index --add --cacheinfo 160000,$h,{name}"
    )


INDEXES = (
    "",
    "git update-index --index-version 4; ",
    "git update-index --split-index; ",
    "touch a; git add a; git update-index --index-version 4; ",
)


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
@pytest.mark.parametrize(
    "shape",
    [
        "update-index --index-version 2",
        "update-index --index-version 4",
        "update-index --split-index",
        "update-index --split-index --index-version 4",
        "add --intent-to-add z",
    ],
)
def test_an_index_is_read_as_git_reads_it(tmp_path: Path, kind: str, shape: str) -> None:
    """Given submodules before and after the index has that shape, and one that took the place of a file."""

    def git(*words: str) -> str:
        run = subprocess.run(["git", *GIT, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    git("init", "-q", f"--object-format={kind}", ".")
    for name in ("b/file", "b/other", "symlink", "z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    git("add", "b", "symlink")
    git("commit", "-qm", "x")
    link = f"160000,{git('rev-parse', 'HEAD')}"
    git("update-index", "--add", "--cacheinfo", f"{link},a/first")
    git(*shape.split())
    git("update-index", "--add", "--cacheinfo", f"{link},b/last")
    git("update-index", "--cacheinfo", f"{link},b/other")
    assert {"a/first", "b/last", "b/other"} <= set(gitlinks(str(tmp_path / ".git")))


@pytest.mark.parametrize("shell", INDEXES)
@pytest.mark.parametrize("name", ["node_modules/a", "vendor/deep/er/a"])
def test_a_submodule_has_no_settings_of_a_command_wherever_it_lies(
    project: Project, name: str, shell: str
) -> None:
    """Given a repository where nobody searches, when an index names it, then git obeys nothing there."""
    (project.work / "build.sh").write_text(submodule(project.work, name, evil=True, shell=shell))
    done = project.run("bash build.sh")
    assert f"{name}/.git/config" in done.content
    assert b"evil" not in (project.work / name / ".git/config").read_bytes()
    project.git("status", "--short")


def test_a_submodule_that_was_there_keeps_its_settings_and_gets_no_others(project: Project) -> None:
    made = submodule(project.work, "vendor/a", evil=False) + "; git -C vendor/a config core.pager mine"
    subprocess.run(["bash", "-c", made], cwd=project.work, check=True)
    before = (project.work / "vendor/a/.git/config").read_bytes()
    (project.work / "build.sh").write_text(
        "cd vendor/a; echo x > .git/hooks/post-merge; git config core.editor evil"
    )
    project.run("bash build.sh")
    assert (project.work / "vendor/a/.git/config").read_bytes() == before
    assert not (project.work / "vendor/a/.git/hooks/post-merge").exists()


@pytest.mark.parametrize(
    "made",
    [
        "mv vendor/a/.git vendor/g; echo 'gitdir: ../g' > vendor/a/.git",
        "mv vendor/a/.git vendor/g; ln -s ../g vendor/a/.git",
    ],
)
def test_a_submodule_whose_repository_lies_elsewhere(project: Project, made: str) -> None:
    (project.work / "build.sh").write_text(f"{submodule(project.work, 'vendor/a', evil=True)}; {made}")
    project.run("bash build.sh")
    subprocess.run(["git", "status"], cwd=project.work, check=False)
    assert (
        not (project.work / "vendor/a/.git").exists()
        or b"evil" not in (project.work / "vendor/g/config").read_bytes()
    )


def test_a_submodule_below_another_working_folder_of_the_repository(project: Project) -> None:
    harm = submodule(project.work, "vendor/a", evil=True).replace(
        "fsmonitor = evil", "fsmonitor = touch ../../ran"
    )
    harm = harm.replace(",vendor/a", ",a") + "; git config core.worktree ../vendor"
    (project.work / "build.sh").write_text(harm)
    project.run("bash build.sh")
    project.git("status")
    assert not (project.work / "ran").exists()
    assert not (project.work.parent / "ran").exists()


def test_a_repository_becomes_a_submodule_by_a_later_command(project: Project) -> None:
    """Given settings of a repository that no index named, when one does, then they are new."""
    first, _, second = submodule(project.work, "vendor/a", evil=True).rpartition("; ")
    subprocess.run(["bash", "-c", f"{first}; echo $h > h"], cwd=project.work, check=True)
    grown_old(project.work / "vendor/a/.git/config")
    project.run("echo x > vendor/a/file")
    assert b"evil" in (project.work / "vendor/a/.git/config").read_bytes()
    project.run(second.replace("$h", "$(cat h)"))
    assert b"evil" not in (project.work / "vendor/a/.git/config").read_bytes()


def test_a_new_submodule_counts_in_a_large_folder(large: Path, tmp_path: Path) -> None:
    """Given a repository beyond the limit, when an index names it, then its settings are new."""
    subprocess.run(["git", "init", "-q", "."], cwd=large, check=True)
    guard = guarded(large, tmp_path / "home")
    subprocess.run(["bash", "-c", submodule(large, "d", evil=False)], cwd=large, check=True)
    assert str(large / "d" / ".git" / "hooks" / "pre-push") in guard.restore()


@pytest.mark.parametrize(
    "name",
    [
        ".claude/settings.json",
        ".mcp.json",
        ".husky/pre-commit",
        ".devcontainer/devcontainer.json",
        ".exrc",
        ".vimrc",
        ".hg/hgrc",
        ".helix/languages.toml",
        ".helix/config.toml",
        ".qwen/settings.json",
        "opencode.json",
    ],
)
def test_files_that_other_tools_run_are_undone(project: Project, name: str) -> None:
    (project.work / "build.sh").write_text(f"mkdir -p $(dirname {name}); echo evil > {name}")
    assert name in project.run("bash build.sh").content
    assert not (project.work / name).exists()


def test_git_checks_out_files_that_run_and_they_are_restored(project: Project) -> None:
    """Given branches that differ in such a file, when a command switches, then git does not fail half-way."""
    (project.work / ".vscode").mkdir()
    for text in ("one", "two"):
        (project.work / ".vscode/settings.json").write_text(text)
        (project.work / "code").write_text(text)
        project.git("add", "-f", ".vscode", "code")
        project.git("commit", "-qm", text)
    assert "error" not in project.run("git checkout -q HEAD~1").content
    assert (project.work / "code").read_text() == "one"
    assert (project.work / ".vscode/settings.json").read_text() == "two"


EVIL_REPOSITORY = "git init -q {0}; printf '[core]\\n\\tfsmonitor = evil\\n' >> {0}/.git/config"
UNSEARCHED = ("node_modules/z", ".venv/z", "node_modules/a/b/z", "node_modules/new/a/b/c/d/e", "dist/z")


@pytest.mark.parametrize("place", UNSEARCHED)
def test_no_command_leaves_a_repository_among_installed_packages(project: Project, place: str) -> None:
    (project.work / "node_modules/a/b").mkdir(parents=True)
    (project.work / "build.sh").write_text(EVIL_REPOSITORY.format(place))
    assert f"{place}/.git/config" in project.run("bash build.sh").content
    assert b"evil" not in (project.work / place / ".git/config").read_bytes()


def test_what_a_person_has_among_installed_packages_stays(project: Project) -> None:
    subprocess.run(["bash", "-c", EVIL_REPOSITORY.format("vendor/a")], cwd=project.work, check=True)
    settings = project.work / "vendor/a/.git/config"
    grown_old(settings)
    assert project.run("echo x > vendor/a/file; mkdir vendor/a/new vendor/b").ok
    assert b"evil" in settings.read_bytes()


def test_many_folders_do_not_hide_a_repository(large: Path, tmp_path: Path) -> None:
    guard = guarded(large, tmp_path / "home")
    harm = f"mkdir -p a/e/f d1 d2 d3 d4 d5; for r in zz a/e/f/g; do {EVIL_REPOSITORY.format('$r')}; done"
    subprocess.run(["bash", "-c", harm], cwd=large, check=True)
    assert set(guard.restore()) == {f"{large}/{place}/.git/config" for place in ("zz", "a/e/f/g")}


@pytest.mark.parametrize("limits", [(8, 100, 100), (100, 2, 2)])
def test_more_new_folders_than_are_looked_at_are_reported(
    large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int, int]
) -> None:
    for number, name in zip(limits, ("MAX_CHANGED", "MAX_UNCHANGED", "MANY"), strict=True):
        monkeypatch.setattr(made_folders, name, number)
    guard = guarded(large, tmp_path / "home")
    assert guard.restore() == ()
    subprocess.run(["bash", "-c", "mkdir a/n{1,2,3,4,5} a/n1/a a/n2/{a,b,c,d}"], cwd=large, check=True)
    assert guard.restore() == (f"{made_folders.STAYS}{made_folders.TOO_MANY}",)


def test_files_that_run_in_a_folder_that_a_command_made_are_reported_once_and_stay(project: Project) -> None:
    names = ("n/.vscode/tasks.json", "n/.envrc", "n/.claude/settings.json", "n/.husky/pre-commit")
    lines = [f"mkdir -p $(dirname {name}); echo made > {name}" for name in names]
    (project.work / "build.sh").write_text(
        "\n".join(
            [*lines, "mkdir -p node_modules/a/.vscode", "echo {} > node_modules/a/.vscode/settings.json"]
        )
    )
    done = project.run("bash build.sh")
    assert done.ok
    assert all(f"{project.work}/{name}" in done.content for name in names)
    assert "not undone" in done.content
    assert "node_modules" not in done.content
    assert project.run("true").content == "(no output)"
    assert not project.run("echo evil > n/.envrc").ok
    assert {(project.work / name).read_text() for name in names} == {"made\n"}


def test_a_clone_of_a_project_with_tasks_stays_as_it_is(project: Project) -> None:
    (project.work / ".vscode").mkdir()
    for name in (".vscode/tasks.json", ".envrc"):
        (project.work / name).write_text("made")
        project.git("add", "-f", name)
    project.git("commit", "-qm", "tasks")
    done = project.run("git clone -q . cloned && git clone -q . vendor/cloned")
    assert done.ok, done.content
    assert "cloned/.envrc" in done.content
    project.git("diff", "--exit-code", cwd=project.work / "cloned")
    project.git("remote", "get-url", "origin", cwd=project.work / "vendor/cloned")


def test_what_a_background_process_makes_in_a_new_folder_is_reported_when_it_has_ended(
    project: Project,
) -> None:
    process = project.ended(project.start("mkdir n; echo made > n/.envrc"))
    project.run("true")
    undone = project.processes.files.undone(process.record.id)
    assert undone == (f"{made_folders.STAYS}{project.work}/n/.envrc",)
    assert (project.work / "n/.envrc").exists()
