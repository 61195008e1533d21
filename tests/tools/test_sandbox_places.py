"""What a command may write, by place, and the services of a session that it reaches: each tries the harm."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

import hermes_jobs
from hermes_jobs.tools import installation, sandbox
from hermes_jobs.tools.sandbox import Layer, Sandbox
from hermes_jobs.tools.sandbox_places import SandboxReach

from .test_sandbox import LAYERS, SECRET, Person

MISSING = (
    ".bash_profile", ".config/autostart/x.desktop", ".config/systemd/user/x.service",
    ".local/bin/git", ".local/share/dbus-1/services/x.service", ".local/share/uv/tools/x", ".local/pipx/x",
    ".zshenv", "bin/git",
)  # fmt: skip


@pytest.fixture(params=LAYERS)
def person(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Person:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))
    return Person(tmp_path.resolve())


def test_nothing_is_made_where_programs_start_by_themselves_or_are_found(person: Person) -> None:
    script = "\n".join(f'mkdir -p ~/"$(dirname {name})"; echo evil > ~/{name}' for name in MISSING)
    (person.work / "build.sh").write_text(script)
    before = sorted(person.folder.rglob("*"))
    person.run("bash build.sh; (setsid bash build.sh &)")
    made = {path for path in set(person.folder.rglob("*")) - set(before) if path.is_file()}
    assert not {path for path in made if not path.is_relative_to(person.home)}


def test_the_installation_is_not_written(person: Person) -> None:
    package = Path(hermes_jobs.__file__)
    before = package.read_bytes()
    person.run(f"echo '# evil' >> {package}; echo evil > {package.parent}/evil.py")
    assert package.read_bytes() == before
    assert not (package.parent / "evil.py").exists()


@pytest.mark.parametrize("approved", [False, True])
def test_an_environment_in_the_working_folder_is_neither_written_nor_replaced(
    person: Person, monkeypatch: pytest.MonkeyPatch, approved: bool
) -> None:
    """Given hermes-jobs installed in an environment of the project, a command cannot change or move it."""
    packages = person.work / "tools" / "venv" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "module.py").write_text("ours")
    monkeypatch.setattr(installation, "places", lambda: (str(person.work / "tools" / "venv"),))
    person.run(
        "echo evil > tools/venv/site-packages/module.py; mv tools/venv tools/old; mv tools old;"
        "mkdir -p tools/venv/site-packages; echo evil > tools/venv/site-packages/module.py",
        SandboxReach(approved=approved),
    )
    assert (packages / "module.py").read_text() == "ours"


def test_an_agent_with_keys_is_reached_by_no_command_unless_it_is_named(person: Person) -> None:
    folder = person.folder / "ssh-XXXX"
    folder.mkdir()
    agent = folder / "agent.1"
    connect = f"python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('{agent}'); print('in')\""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(agent))
        listener.listen(8)
        command = f'echo "<$SSH_AUTH_SOCK>"; {connect}'
        hidden = person.run(command, SSH_AUTH_SOCK=str(agent)).output
        named = SandboxReach(visible=("$SSH_AUTH_SOCK",))
        shown = person.run(command, named, SSH_AUTH_SOCK=str(agent)).output
    assert "<>\n" in hidden
    assert "in\n" not in hidden
    assert shown == f"<{agent}>\nin\n"


def test_no_key_comes_into_sight_by_moving_the_folder_above_it(person: Person) -> None:
    """Given the home of hermes-jobs and a key deep in written folders, when a command moves what is above."""
    home, key = person.work / "a" / "b" / "home", person.folder / ".config" / "gh" / "hosts.yml"
    home.mkdir(parents=True)
    (home / ".env").write_text("NEEDLE")
    roots = (str(person.work), str(person.folder / ".config"))
    person.paths = replace(person.paths, home=str(home), roots=roots)
    person.run("mv a moved; mv ~/.config/gh ~/.config/other")
    said = person.run("cat moved/b/home/.env ~/.config/other/*").output
    assert key.exists()
    assert (home / ".env").exists()
    assert "NEEDLE" not in said
    assert SECRET not in said


def test_temporary_files_are_seen_by_later_commands_of_the_session(person: Person) -> None:
    person.run("f=$(mktemp); echo kept > $f; echo $f > name")
    assert person.run("cat $(cat name)").output == "kept\n"


def test_declared_places_are_written(person: Person) -> None:
    place = person.folder / "declared"
    place.mkdir()
    made = Sandbox(paths=person.paths, mode="on", writable=("~/declared",))
    plan = made.enclose(str(person.work), SandboxReach(), {}, scratch="s1").plan
    assert f"writable {place}" in plan.splitlines()


@pytest.mark.parametrize("programs", ["bin", ".local/bin", "go/bin"])
def test_where_the_home_folder_is_the_working_folder_its_programs_are_not_written(
    person: Person, programs: str
) -> None:
    """They are found by the next shell, also where this process's own PATH does not name them yet."""
    program = person.folder / programs / "git"
    program.parent.mkdir(parents=True)
    program.write_text("mine")
    person.work = person.folder
    person.run(
        f"echo evil > {programs}/git; echo evil > {programs}/ls; mv {programs} project/; echo x > project/x"
    )
    assert program.read_text() == "mine"
    assert not (program.parent / "ls").exists()
    assert (person.folder / "project" / "x").exists()
