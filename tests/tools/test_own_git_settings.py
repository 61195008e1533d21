"""Settings of git that are the person's own, and lead into the working folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hermes_jobs.tools import sandbox
from hermes_jobs.tools.sandbox import Layer
from tests.tables import nightly

from .keys_support import LAYERS, SSH, Person, Recorder

SIGNED = "[commit]\ngpgsign = true\n[gpg]\nformat = ssh\n[user]\nsigningkey = ~/.ssh/id_ed25519\n"
HOOKS = ("pre-push", "reference-transaction", "post-index-change", "pre-commit")


@pytest.fixture
def person(tmp_path: Path, recorder: Recorder) -> Iterator[Person]:
    made = Person(tmp_path.resolve(), recorder.port)
    made.repository()
    yield made
    made.close()


@pytest.fixture(params=[*LAYERS[:1], *nightly(*LAYERS[1:])])
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=request.param))


def have(person: Person, settings: str) -> None:
    """Add to the settings of the person."""
    file = person.folder / ".gitconfig"
    file.write_text(file.read_text() + settings.replace("HOME", str(person.folder)))


def hooks_of_the_folder(person: Person) -> list[str]:
    have(person, "[core]\nhooksPath = .githooks\n" + SIGNED)
    for hook in HOOKS:
        person.thief(f".githooks/{hook}")
    return ["git pull", "git add -A && git fetch", "git diff; git fetch", "git commit --allow-empty -m z"]


def hooks_that_run_hooks(person: Person) -> list[str]:
    have(person, "[core]\nhooksPath = ~/hooks\n")
    for hook in HOOKS:
        person.thief(f".git/hooks/{hook}")
        person.write(
            person.folder / "hooks" / hook, f'#!/bin/sh\nexec .git/hooks/{hook} "$@"\n', executable=True
        )
    return ["git pull", "git fetch"]


def filter_of_a_module(person: Person) -> list[str]:
    have(person, '[filter "nb"]\nclean = python3 -m nbx\nsmudge = cat\n')
    person.write("nbx.py", f'import subprocess\nsubprocess.run(["{person.thief("x")}"])\n')
    person.write(".gitattributes", "*.txt filter=nb\n")
    person.write("a.txt", "b\n")
    return ["git status; git fetch", "git diff; git fetch", "git add -A && git fetch"]


def rebase_that_goes_on(person: Person) -> list[str]:
    """A rebase that git never began, with a command in its list."""
    have(person, SIGNED)
    person.thief("y")
    head = person.git("rev-parse", "HEAD").strip()
    files = {"git-rebase-todo": "exec ./y\n", "head-name": "refs/heads/main\n", "onto": f"{head}\n"}
    files |= {"orig-head": f"{head}\n", "interactive": "", "msgnum": "1\n", "end": "1\n"}
    for name, text in files.items():
        person.write(f".git/rebase-merge/{name}", text)
    return ["git rebase --skip", "git rebase --continue", "git rebase --skip && git fetch"]


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.usefixtures("layer")
@pytest.mark.parametrize(
    "plan", [hooks_of_the_folder, hooks_that_run_hooks, filter_of_a_module, rebase_that_goes_on]
)
def test_no_key_arrives_by_settings_of_the_person(
    person: Person, recorder: Recorder, plan: Callable[[Person], list[str]]
) -> None:
    """Given settings of the person that run what the folder has, when nobody approves anything, then no key
    arrives, whether somebody is there or not."""
    for command in plan(person):
        for attended in (True, False):
            person.run(command, attended=attended)
            assert recorder.keys == [], command


@pytest.mark.parametrize(
    ("settings", "command", "code"),
    [
        ('[filter "nb"]\nclean = ./x\n', "git status; git fetch", "filter.nb.clean = ./x"),
        ('[filter "nb"]\nclean = x\n', "git fetch", "filter.nb.clean = x"),
        ('[filter "nb"]\nclean = git-lfs clean|sh x\n', "git fetch", "filter.nb.clean = git-lfs clean|sh x"),
        ("[core]\nfsmonitor = ./x\n", "git pull", "core.fsmonitor = ./x"),
        ("[diff]\nexternal = ./x\n", "git diff; git fetch", "diff.external = ./x"),
        ("[core]\nsshCommand = ./x\n", "git fetch", "core.sshcommand = ./x"),
        ("[core]\nsshCommand = ssh -F cfg\n", "git fetch", "core.sshcommand = ssh -F cfg"),
        ("[core]\nsshCommand = HOME/project/ssh\n", "git fetch", "core.sshcommand = HOME/project/ssh"),
        ("[credential]\nhelper = !./x\n", "git fetch", "credential.helper"),
        ("[include]\npath = HOME/project/.husky/more\n", "git fetch", "core.sshcommand = ssh -o x=y"),
        (
            f"{SIGNED}[gpg \"ssh\"]\ndefaultKeyCommand = ./x\n",
            "git commit --allow-empty -m z",
            "gpg.ssh.defaultkeycommand = ./x",
        ),
        ("[core]\nhooksPath = HOME/hooks\n", "git fetch", "../hooks/reference-transaction"),
    ],
)  # fmt: skip
def test_a_program_that_the_folder_could_give_asks_by_its_setting(
    person: Person, settings: str, command: str, code: str
) -> None:
    have(person, settings)
    person.write(".husky/more", "[core]\nsshCommand = ssh -o x=y\n")
    person.write(person.folder / "hooks/reference-transaction", "#!/bin/sh\n", executable=True)
    verdict = person.verdict(command)
    assert verdict.decision == "ask"
    assert verdict.rule.endswith(f" to {code.replace('HOME', str(person.folder))}")


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.usefixtures("layer")
def test_usual_settings_of_a_person_raise_no_question(person: Person) -> None:
    """Given what people set, when nobody is there, then git reaches its server."""
    have(
        person,
        """
[filter "lfs"]
clean = git-lfs clean -- %f
smudge = git-lfs smudge -- %f
process = git-lfs filter-process
required = true
[core]
pager = diff-so-fancy | less --tabs=4 -RFX
editor = vim
excludesFile = ~/.gitignore
hooksPath = ~/hooks
fsmonitor = true
sshCommand = ssh -i ~/.ssh/id_ed25519 -F ~/.ssh/config -o ControlMaster=auto
[credential]
helper = store
helper = cache --timeout=3600
helper = /usr/share/git/git-credential-libsecret
[credential "https://github.com"]
helper =
helper = !/usr/bin/gh auth git-credential
[credential "https://git-codecommit.eu-west-1.amazonaws.com"]
helper = !aws codecommit credential-helper $@
[interactive]
diffFilter = delta --color-only
[delta]
syntax-theme = Monokai Extended
[diff "pdf"]
textconv = pdftotext -layout
[difftool "x"]
cmd = ./x $LOCAL
[pull]
rebase = true
[alias]
x = !./x
lg = log --graph
[gpg]
program = /usr/bin/gpg
[gpg "ssh"]
program = /opt/1Password/op-ssh-sign
defaultKeyCommand = ssh-add -L
[url "git@server:"]
insteadOf = s:
""",
    )
    person.write(person.folder / "hooks/pre-commit", "#!/bin/sh\n", executable=True)
    for command in ("git fetch", "git pull", "git status && git diff; git fetch", "git ls-remote --heads"):
        done = person.run(command, attended=False)
        assert done.ok, done.content


def test_a_file_that_settings_name_is_written_with_an_approval(person: Person) -> None:
    have(person, "[core]\nhooksPath = build/hooks\n[include]\npath = HOME/project/shared\n")
    for name in ("build/hooks/pre-commit", "shared"):
        assert person.use("write_file", path=name, content="x").refused
    for name in ("build/hooks/more", "build/pre-commit", "b.txt"):
        assert person.use("write_file", path=name, content="x").ok


def test_ssh_forwards_neither_the_agent_nor_ports(person: Person) -> None:
    """With `ForwardAgent yes` in the person's settings a server that is named could use all of their keys."""
    person.program("ssh", f'#!/bin/sh\necho "$@" >> {person.served}/asked\n{SSH}')
    assert person.run("git fetch", attended=False).ok
    asked = (person.served / "asked").read_text()
    assert asked.startswith("-a -x -o ClearAllForwardings=yes "), asked


@pytest.mark.parametrize("editor", ["vim", "nano", "emacs -nw", "code --wait", "subl -n -w"])
def test_usual_editors_in_the_settings_of_a_repository_ask_nothing(person: Person, editor: str) -> None:
    person.git("config", "core.editor", editor)
    assert person.verdict("git fetch", attended=False).decision == "allow"


@pytest.mark.parametrize("editor", ["./x", "vim -s", "vim -u", "emacs -l", "nvim -l", "sh"])
def test_editors_that_would_run_the_message_are_named(person: Person, editor: str) -> None:
    person.git("config", "core.editor", editor)
    assert f"core.editor = {editor}" in person.verdict("git fetch").rule
