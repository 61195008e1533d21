"""What decides which program, repository or server gets a key: names, versions, caches and settings."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from .keys_support import LAYERS, Person, Recorder


@pytest.fixture
def person(tmp_path: Path, people: Callable[..., Person]) -> Person:
    made = people(tmp_path.resolve())
    made.repository()
    return made


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.parametrize("written", [r"ev\xff", r"ev\377"])
@pytest.mark.parametrize("line", ["git -C $'{}' pull -q", "cd $'{}' && git pull -q"])
def test_a_byte_is_no_character_of_the_same_number(
    tmp_path: Path, people: Callable[..., Person], recorder: Recorder, line: str, written: str
) -> None:
    """An escape of 255 is one byte, and not the two of the character with that number."""
    person = people(tmp_path.resolve(), recorder.port)
    person.repository()
    person.thief("x")
    for name in (b"ev\xc3\xbf", b"ev\xff"):
        person.git("clone", "-q", "git@server:r.git", os.fsdecode(name))
    odd = person.work / os.fsdecode(b"ev\xff")
    (odd / ".git/info/attributes").write_text("* filter=z\n")
    person.git("config", "filter.z.smudge", str(person.work / "x"), folder=odd)
    person.write("a.txt", "b\n")
    person.git("commit", "-qam", "b")
    person.git("push", "-q")
    person.run(line.format(written), attended=False)
    assert recorder.keys == []


@pytest.mark.parametrize("name", [".python-version", ".tool-versions", ".node-version"])
@pytest.mark.parametrize("line", ["git fetch; aws --version", "aws s3 ls", "kubectl get pods"])
def test_a_version_that_is_a_key_is_printed_by_no_program(person: Person, name: str, line: str) -> None:
    assert person.policy.reach(line, person.context())[1].places
    (person.work / name).symlink_to(person.folder / ".ssh/id_ed25519")
    keys = person.policy.reach(line, person.context())[1]
    assert (keys.places, keys.withheld) == ((), f"{name} is a link to a key")


@pytest.mark.parametrize("name", [".tool-versions", "mise.toml"])
@pytest.mark.parametrize("line", ["kubectl get pods", "git fetch", "cd sub && aws s3 ls"])
def test_a_version_that_is_a_folder_of_the_project_gets_no_key(person: Person, name: str, line: str) -> None:
    """Given asdf's `path:`, whose programs are code of the folder; a number is none."""
    (person.work / "sub").mkdir()
    for text, withheld in (
        ('kubectl 1.30.1\npython = "3.12"\n', ""),
        ("kubectl path:./tools\n", f"{name} names programs of a folder"),
    ):
        person.write(name, text)
        assert person.policy.reach(line, person.context())[1].withheld == withheld


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
def test_settings_that_name_a_module_of_python_find_none_of_the_folder(person: Person) -> None:
    """Given a `ProxyCommand` or `credential_process` of `python3 -m name`, as ssh and aws start it."""
    person.write("corp.py", "print('of the folder')\n")
    person.program("aws", "#!/bin/sh\nexec python3 -m corp\n")
    assert "of the folder" not in person.run("aws s3 ls", attended=False).content
    assert "of the folder" in person.run("python3 -m corp", attended=False).content


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
def test_a_program_with_a_key_takes_no_package_manager_from_the_agents_cache(person: Person) -> None:
    person.program("npm", "#!/bin/sh\necho $COREPACK_HOME\n")
    own = f"{person.folder}/.cache/node/corepack"
    assert person.run("npm view left-pad", attended=False).content.strip() == own
    assert person.run("npm run build", attended=False).content.strip() != own


def test_a_question_about_settings_of_npm_has_no_line_of_a_key(person: Person) -> None:
    """Given a `.npmrc` that is a link to a key, or holds one, the question prints nothing of it."""
    (person.work / ".npmrc").symlink_to(person.folder / ".ssh/id_ed25519")
    asked = person.verdict("npm view left-pad")
    assert (asked.decision, "NEEDLE" in asked.rule) == ("ask", False)
    assert ".npmrc, a link to a key" in asked.rule
    (person.work / ".npmrc").unlink()
    person.write(".npmrc", "-----BEGIN NEEDLE KEY-----\nfetch-retries=2\nnode-options=x\n")
    asked = person.verdict("npm view left-pad")
    assert "a line in .npmrc" in asked.rule
    assert "node-options in .npmrc" in asked.rule
    assert "NEEDLE" not in asked.rule
    assert "fetch-retries" not in asked.rule


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("docker --config ./d foo", "`docker` with `--config`"),
        ("DOCKER_CONFIG=d docker foo", "`docker` with `DOCKER_CONFIG=d`"),
        ("docker -H tcp://192.0.2.1:2375 pull alpine", "`docker` with `-H`"),
        ("DOCKER_HOST=tcp://192.0.2.1 docker pull alpine", "`docker` with `DOCKER_HOST=tcp://192.0.2.1`"),
        ("DOCKER_HOST=x timeout 5 docker pull alpine", "`timeout` with `DOCKER_HOST=x`"),
        ("systemctl restart cron && make", "`make`"),
    ],
)
def test_what_a_line_without_the_sandbox_takes_from_elsewhere_is_named(
    person: Person, line: str, named: str
) -> None:
    assert f"without the sandbox, which hides your keys: {named}" in person.verdict(line).rule
    assert "without the sandbox" not in person.verdict("docker pull alpine").rule


def test_code_that_git_runs_without_the_sandbox_is_named(person: Person) -> None:
    person.thief("x")
    person.git("config", "core.fsmonitor", "./x")
    asked = person.verdict("systemctl status cron; git status").rule
    assert "without the sandbox, which hides your keys: `git status`; showing" in asked


def test_a_password_for_one_host_is_sent_to_the_address_of_another_only_if_that_is_named(
    person: Person,
) -> None:
    line = 'psql "host=db.example.com hostaddr=192.0.2.2 dbname=x" -c "select 1"'
    assert "showing ~/.pgpass to another address than its host's" in person.verdict(line).rule


def test_a_name_of_this_machine_is_this_machine(person: Person) -> None:
    """Given a service of that name in a file that the folder may have, and a registry of npm there."""
    own = socket.gethostname()
    person.write("compose.yaml", f"services:\n  {own}:\n    image: x\n")
    assert "a server on this machine" in person.verdict(f"psql -h {own} -p 5433 a -c 'select 1'").rule
    person.write(person.folder / ".npmrc", f"//{own}:4873/:_authToken=NEEDLE-npm\n")
    assert "a server of this machine" in person.verdict("npm view left-pad").rule


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.parametrize(
    ("line", "beside"),
    [
        ("rm -r build; make", "; with the same rights: `make`"),
        ("npm install left-pad && npm test", "; with the same rights: `npm test`"),
        ("rm -r build && ls | head -3", ""),
        ("timeout 5 rm -r build", ""),
        ("find . -name b | xargs rm -r", ""),
        ("git reset --hard && git status", ""),
        ("rm -r build && git add -A && git commit -m x", ""),
    ],
)
def test_code_that_runs_with_the_rights_of_an_approved_command_is_named(
    person: Person, line: str, beside: str
) -> None:
    """What was approved may write files that run later, and so may what stands beside it."""
    asked = person.verdict(line)
    assert asked.decision == "ask"
    assert asked.rule.endswith(beside) if beside else "with the same rights" not in asked.rule


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
def test_a_hook_beside_an_approved_command_is_named(person: Person) -> None:
    person.thief(".git/hooks/pre-commit")
    assert "with the same rights: .git/hooks/pre-commit" in person.verdict("rm -r b; git commit -am x").rule
