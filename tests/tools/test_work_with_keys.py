"""Everyday work with keys goes on: transfers, clients of services, packages, builds, each with its own."""

from __future__ import annotations

import json
import re
import shutil
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hermes_jobs.tools import sandbox
from hermes_jobs.tools.command_line import PUSHING
from hermes_jobs.tools.sandbox import Layer
from tests.tables import nightly

from .keys_support import KEYS, LAYERS, Person

EVERYTHING = tuple(f"~/{name}" for name in KEYS)


@pytest.fixture(params=[*LAYERS[:1], *nightly(*LAYERS[1:])])
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    monkeypatch.setattr(sandbox, "layer", lambda: Layer(name=name))
    return name


@pytest.mark.parametrize("attended", [*nightly(True), False])
@pytest.mark.parametrize(
    "command",
    [
        "git push origin HEAD:new",
        "git fetch",
        "git fetch --all --prune",
        "git pull --rebase",
        "git ls-remote --heads origin",
        "git push 2>&1 | tail -3",
        "cd . && git push && echo done",
        "git status && git add -A && git commit --allow-empty -qm 'b c' && git push -u origin main",
        "git commit --allow-empty -m \"$(cat <<'EOF'\nSubject\nEOF\n)\" && git push",
        "git clone git@server:r.git copy",
        "timeout 30 git fetch",
        "git -C . fetch origin main",
        "git submodule update --init --recursive",
        "echo a >> a.txt && git add -A && git commit -qm x && git push",
        "cat <<'E' > b.txt && git add b.txt && git commit -qm b && git push\nb\nE",
        "git fetch > log.txt 2>&1",
        "git -c blame.ignoreRevsFile=.ignored blame a.txt; git fetch",
        "git config user.name X; git config pull.rebase true; git remote add u git@server:r.git; git fetch u",
    ],
)
def test_git_reaches_its_server_by_ssh_without_a_question_but_for_pushes_when_nobody_is_there(
    tmp_path: Path, people: Callable[..., Person], layer: str, command: str, attended: bool
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    done = person.run(command, attended=attended)
    if "git push" in command and not attended:
        assert done.rule == f"{PUSHING}, and nobody can be asked in this turn"
    elif command.startswith("cat <<"):  # which text goes to which command is not known for sure
        assert done.rule == PUSHING
    else:
        assert done.ok, done.content


def test_a_hidden_key_is_named_in_the_result_of_a_command_that_failed(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    person.write("Makefile", "all:\n\ttrue\n")
    done = person.run("make && git push")
    assert not done.ok
    assert "[Hidden from this command: ~/.ssh, because `make` may run code of this folder." in done.content


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("echo x > .git/config; git fetch", "`echo` writes to a file"),
        ("echo x > .gitmodules; git fetch", "`echo` writes to a file"),
        ("echo x > linked; git fetch", "`echo` writes to a file"),
        ("echo x >> dotfiles; git fetch", "`echo` writes to a file"),
        ("echo x > bare/config; git -C bare fetch", "`echo` writes to a file"),
        ("echo x >> ../elsewhere; git fetch", "`echo` writes to a file"),
        ("git config http.proxy http://e.com; git fetch", "`git config` may run code of this folder"),
        ("git remote set-url origin git@e:r.git; git fetch", "`git remote` changes addresses"),
    ],
)
def test_what_a_line_changes_that_git_obeys_hides_its_keys(
    tmp_path: Path, people: Callable[..., Person], command: str, reason: str
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    (person.work / "linked").symlink_to(".git/config")
    person.write("dotfiles", "[user]\nname = Ann\n")
    person.write(person.folder / ".gitconfig", f"[include]\npath = {person.work}/dotfiles\n")
    keys = person.policy.reach(command, person.context())[1]
    assert (keys.places, keys.withheld) == ((), reason)


def test_usual_settings_of_a_repository_raise_no_question(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    for key, value in {
        "blame.ignoreRevsFile": ".git-blame-ignore-revs",
        "blame.date": "short",
        "core.excludesFile": "~/.gitignore_global",
        "core.ignorecase": "true",
        "core.fsmonitor": "true",
        "core.pager": "less",
        "core.sshCommand": "ssh -i ~/.ssh/id_ed25519 -o IdentitiesOnly=yes",
        "branch.main.rebase": "true",
        "branch.main.vscode-merge-base": "origin/main",
        "user.email": "ann@work.example",
        "pull.rebase": "true",
        "lfs.repositoryformatversion": "0",
        "remote.upstream.url": "https://example.org/x.git",
        "remote.upstream.gh-resolved": "base",
        "submodule.lib.url": "git@server:lib.git",
    }.items():
        person.git("config", key, value)
    done = person.run("git fetch", attended=False)
    assert done.ok, done.content


@pytest.mark.parametrize(
    "setting", ["blame.ignoreRevsFile", "core.excludesFile", "mailmap.file", "fsck.skipList"]
)
@pytest.mark.parametrize("named", ["~/.ssh/id_ed25519", "../.ssh/id_ed25519", "./.git/../../.ssh/id_ed25519"])
def test_no_key_is_printed_as_a_file_that_settings_name(
    tmp_path: Path, people: Callable[..., Person], setting: str, named: str
) -> None:
    """Given a setting by which git reads a key as a list, when a line sees that key, then none is printed."""
    person = people(tmp_path.resolve())
    person.repository()
    person.git("config", setting, named)
    for command in ("git blame a.txt && git fetch", "git fetch; git check-ignore -v NEEDLE-ssh; git fsck"):
        done = person.run(command, attended=False)
        assert "NEEDLE-ssh\t" not in done.content
        assert "name: NEEDLE" not in done.content
    assert (
        person.verdict(f"git -c {setting}={named} blame a.txt && git fetch", attended=False).decision
        == "deny"
    )
    shown = person.verdict("git blame a.txt && git fetch")
    assert shown.rule == f"showing ~/.ssh, $SSH_AUTH_SOCK to {setting.lower()} = {named}"


def with_a_submodule(person: Person) -> None:
    """A repository with an ordinary submodule, which is reached as the repository itself is."""
    person.repository()
    allowed = ("-c", "protocol.file.allow=always")
    person.git(*allowed, "submodule", "add", "-q", str(person.served / "r.git"), "sub")
    person.git("config", "-f", ".gitmodules", "submodule.sub.url", "git@server:r.git")
    person.git("submodule", "sync", "-q")
    person.git("commit", "-qam", "sub")
    (person.work / "sub" / "deep").mkdir()


@pytest.mark.parametrize(
    "commands",
    [
        [
            "git -C sub fetch",
            "git -C sub pull",
            "cd sub && git fetch && git status",
            "cd sub/deep && git fetch",
        ],
        ["git submodule update --init", "git submodule update --init --recursive --remote", "git fetch"],
    ],
)
def test_an_ordinary_submodule_raises_no_question(
    tmp_path: Path, people: Callable[..., Person], layer: str, commands: list[str]
) -> None:
    person = people(tmp_path.resolve())
    with_a_submodule(person)
    for command in commands:
        done = person.run(command, attended=False)
        assert done.ok, f"{command}: {done.content}"


@pytest.mark.parametrize("worktree", ["../../../..", "../../../../.ssh", "~/.ssh", "../../../other"])
def test_a_working_folder_that_is_not_that_of_the_submodule_is_named(
    tmp_path: Path, people: Callable[..., Person], worktree: str
) -> None:
    person = people(tmp_path.resolve())
    with_a_submodule(person)
    person.git("init", "-q", "other")
    person.git("config", "core.worktree", worktree, folder=person.work / "sub")
    shown = person.verdict("git -C sub fetch").rule
    assert "core.worktree" in shown or "cannot be checked" in shown


def test_a_push_to_a_folder_needs_no_keys_and_no_question(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    person.git("remote", "add", "backup", str(person.served / "r.git"))
    person.thief(".git/hooks/pre-push")
    assert person.verdict("git push backup HEAD:b").decision == "allow"


def test_transfers_by_https_see_the_stored_credentials_and_no_key_of_ssh(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    person = people(tmp_path.resolve())
    person.repository()
    person.git("remote", "set-url", "origin", "https://example.org/r.git")
    keys = person.policy.reach("git push", person.context())[1]
    assert keys.places == (".netrc", ".git-credentials", ".config/gh")
    assert keys.variables["GIT_ALLOW_PROTOCOL"] == "https"


@pytest.mark.parametrize(
    ("command", "places", "code", "hidden"),
    [
        ("aws s3 ls", [".aws"], "", False),
        ("aws --endpoint-url http://127.0.0.1:9 s3 ls", [], "", True),
        ("gh pr list --limit 3 | head", [".config/gh"], "", False),
        ("gh pr checkout 3 -- -c core.sshCommand=x", [], "", False),
        ("npm view left-pad", [".npmrc"], "", False),
        ("npm ci --ignore-scripts", [".npmrc"], "", False),
        ("npm ci", [], "", True),
        ("npm publish", [".npmrc"], "the scripts of package.json, and the settings of this folder", False),
        ("npm run view", [], "", False),
        ("docker build -t x .", [".docker/config.json"], "", False),
        ("docker -H tcp://127.0.0.1:9 push x", [], "", False),
        ("docker compose build", [], "", False),
        ("psql -h db.example.org -c 'select 1'", [".pgpass"], "", False),
        ("psql -h localhost -c 'select 1'", [".pgpass"], "a server on this machine", False),
        ("psql -c '\\d users'", [".pgpass"], "", False),
        ("psql -h db -U app app -c 'select 1 where host = 2'", [".pgpass"], "", False),
        ("psql postgresql://app@db:5432/app?sslmode=require -Atc 'select 1'", [".pgpass"], "", False),
        ("psql -lf x.sql", [], "", True),
        ("psql -f x.sql", [], "", True),
        ("echo '\\! x' | psql", [], "", True),
        ("kubectl get pods -s https://127.0.0.1:9", [".kube", ".aws"], "what `-s` names", False),
        ("FOO=1 kubectl get pods", [], "", True),
        ("cd $X && kubectl get pods", [], "", True),
        ("kubectl get pods; ./x", [], "", True),
        ("ssh host uptime", [".ssh", "$SSH_AUTH_SOCK"], "", False),
        ("ssh -F x host", [".ssh", "$SSH_AUTH_SOCK"], "what `-F` names", False),
        ("ssh -o ConnectTimeout=5 host", [".ssh", "$SSH_AUTH_SOCK"], "", False),
        ("rm -r build", [], "", False),
    ],
)
def test_programs_see_their_own_keys_by_what_they_are_told_to_do(
    tmp_path: Path, people: Callable[..., Person], command: str, places: list[str], code: str, hidden: bool
) -> None:
    """All of these calls are approved, for another reason."""
    person = people(tmp_path.resolve())
    (person.work / "build").mkdir()
    context = person.context(approved=True, approved_rule=f"showing them to {code}" if code else "")
    keys = person.policy.credentials
    assert keys is not None
    found = keys.of(person.policy.line(command, context).parts, str(person.work), approved=True)
    of_machine = {"/run", "/run/docker.sock"} - set(places)  # what an engine has here
    assert [place for place in found.places if place not in of_machine] == places
    assert ", ".join(found.code) == code
    assert bool(found.hidden) == hidden


ON_THIS_MACHINE = (
    "'hostaddr=127.0.0.1 port=1 user=bob'",
    "-d 'host=db hostaddr=127.0.0.1'",
    "--dbname='host=db hostaddr=127.0.0.1'",
    "-h db -d hostaddr=127.0.0.1",
    "-h db -wd hostaddr=127.0.0.1",
    "'postgresql://bob@db:1/x?hostaddr=127.0.0.1'",
    "'postgresql://x?y@127.0.0.1/x'",
    "postgresql:///x?host=%6cocalhost",
    "-h 0",
    "-h 0x7f000001",
    "-h 127.1",
    "-h 0177.0.0.1",
    "-h 2130706433",
    "-h ::ffff:127.0.0.1",
    "-h localhost.",
    "-h db.localhost",
    "-wh localhost",
    "-h db,127.0.0.1",
    "-h /tmp",
    """"host = 'localhost'" """,
    "service=x",
    "'host=db servicefile=x service=y'",
    "-c 'select 1' 'host=db passfile=x'",
)


@pytest.mark.parametrize("words", ON_THIS_MACHINE)
def test_a_password_for_a_server_on_this_machine_is_asked_about(
    tmp_path: Path, people: Callable[..., Person], words: str
) -> None:
    """A program of the folder may listen there."""
    person = people(tmp_path.resolve())
    assert "showing ~/.pgpass to a server on this machine" in person.verdict(f"psql {words}").rule


def test_mysql_gets_no_password_for_a_server_that_joined_options_name(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    person = people(tmp_path.resolve())
    person.write(person.folder / ".my.cnf", "NEEDLE")
    assert person.policy.reach("mysql -Ne 'select 1' app", person.context())[1].places == (".my.cnf",)
    assert person.policy.reach("mysql -Nh 0 -e 'select 1'", person.context())[1].hidden == (".my.cnf",)


def test_a_server_on_this_machine_may_be_named_by_a_variable(
    tmp_path: Path, people: Callable[..., Person]
) -> None:
    person = people(tmp_path.resolve(), environ={"PGHOST": "localhost"})
    assert "a server on this machine" in person.verdict("psql -l").rule


def test_kubectl_reads_a_plain_kubeconfig_without_a_question(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    person.program("kubectl", '#!/bin/sh\ncat "$HOME/.kube/config"\n')
    done = person.run("kubectl -n prod get pods -o wide", attended=False)
    assert done.content == "NEEDLE-kube"
    assert "NEEDLE" not in person.run("kubectl --kubeconfig=x get pods", attended=False).content


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_lists_pods_of_the_server_that_its_settings_name(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    with cluster() as port:
        server = {"name": "a", "cluster": {"server": f"http://127.0.0.1:{port}"}}
        context = {"name": "a", "context": {"cluster": "a"}}
        config = {"clusters": [server], "contexts": [context], "current-context": "a"}
        person.write(
            person.folder / ".kube/config", json.dumps({"apiVersion": "v1", "kind": "Config", **config})
        )
        done = person.run("kubectl -n prod get pods -o name", attended=False)
    assert done.content.splitlines()[-1] == "pod/web-0", done.content


@contextmanager
def cluster() -> Iterator[int]:
    """The port of a server with one pod; no token is asked for, as kubectl sends one over TLS only."""
    answers: dict[str, dict[str, object]] = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
        "/api/v1": {
            "kind": "APIResourceList",
            "groupVersion": "v1",
            "resources": [{"name": "pods", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}],
        },
        "/api/v1/namespaces/prod/pods": {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {},
            "items": [
                {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web-0", "namespace": "prod"}}
            ],
        },
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = answers.get(self.path.partition("?")[0])
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_npm_packs_for_publishing_with_the_scripts_of_the_project(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    (person.folder / ".npmrc").write_text("fund=false\n")
    person.write(
        "package.json", '{"name": "x", "version": "1.0.0", "scripts": {"prepack": "echo packed > p"}}'
    )
    done = person.run("npm publish --dry-run --offline", attended=False)
    assert "x@1.0.0" in done.content
    assert (person.work / "p").read_text() == "packed\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_runs_the_tests_of_a_project(tmp_path: Path, people: Callable[..., Person], layer: str) -> None:
    person = people(tmp_path.resolve())
    person.write("Makefile", "test:\n\t@echo tested; cat ~/.ssh/id_ed25519\n")
    done = person.run("make test", attended=False)
    assert "tested" in done.content
    assert "NEEDLE" not in done.content


WHEEL = {
    "x.py": "y = 1\n",
    "x-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: x\nVersion: 1.0\n",
    "x-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n",
    "x-1.0.dist-info/RECORD": "x.py,,\n",
}


@pytest.mark.slow
def test_pip_installs_a_wheel_into_the_environment_of_a_project(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    venv.create(person.work / ".venv", with_pip=True)
    with zipfile.ZipFile(person.work / "x-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in WHEEL.items():
            wheel.writestr(name, text)
    done = person.run(
        ".venv/bin/pip install --no-index ./x-1.0-py3-none-any.whl && .venv/bin/python -c 'import x'",
        attended=False,
    )
    assert done.ok, done.content


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("docker ps", "allow"),
        ("docker compose -f x.yml logs web", "allow"),
        ("docker compose exec web ls", "allow"),
        ("docker build .", "allow"),
        ("docker compose up -d", "ask"),
        ("docker compose --profile ps up", "ask"),
        ("docker-compose up", "ask"),
        ("docker run --rm alpine true", "ask"),
        ("docker start db", "ask"),
    ],
)
def test_what_starts_containers_asks_with_the_socket_named(
    tmp_path: Path, people: Callable[..., Person], command: str, decision: str
) -> None:
    folder = tmp_path.resolve()
    person = people(folder, environ={"DOCKER_HOST": f"unix://{folder}/docker.sock"})
    verdict = person.verdict(command)
    assert verdict.decision == decision, verdict
    if decision == "ask":
        assert re.search(r"showing (?:/run/\S+, )*\$DOCKER_HOST to containers", verdict.rule)
        assert "root on this machine" in person.run(command, attended=False).content


def test_cargo_finds_its_token_where_its_home_is_a_cache(
    tmp_path: Path, people: Callable[..., Person], layer: str
) -> None:
    person = people(tmp_path.resolve())
    person.write(person.folder / ".cargo/credentials.toml", "NEEDLE-cargo")
    person.program("cargo", '#!/bin/sh\ncat "$CARGO_HOME/credentials.toml"\n')
    assert "~/.cargo/credentials.toml" in person.verdict("cargo publish").rule
    assert person.run("cargo publish", approved=True).content == "NEEDLE-cargo"
    assert "NEEDLE" not in person.run("cargo build", attended=False).content


@pytest.mark.parametrize(
    ("command", "refused"),
    [
        ("cat ~/.ssh/id_ed25519", True),
        ("rm -rf build", True),
        ("curl -d @a.txt https://example.org", True),
        ("npm publish", True),
        ("sudo ls", True),
        ("echo x >> ~/.bashrc", True),
        ("git push", True),
        ("ls && git status", False),
        ("make test", True),
    ],
)
def test_without_a_sandbox_the_rules_alone_refuse_in_unattended_turns(
    tmp_path: Path, people: Callable[..., Person], command: str, refused: bool
) -> None:
    person = people(tmp_path.resolve(), mode="off")
    person.repository()
    person.write(".git/hooks/pre-push", "#!/bin/sh\n", executable=True)
    person.write("build/x", "x")
    assert (person.verdict(command, attended=False).decision == "deny") == refused
