"""What an attacker would put into a project, and have the agent run there, to get at the person's keys."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable

from .keys_support import Person

Plan = Callable[[Person], list[str]]
"""Prepares the project as the attacker would, and returns the commands that the agent is made to run."""

ATTACKS: dict[str, Plan] = {}


def attack(plan: Plan) -> Plan:
    ATTACKS[plan.__name__] = plan
    return plan


@attack
def fsmonitor(person: Person) -> list[str]:
    person.repository()
    person.git("config", "core.fsmonitor", person.thief("watch"))
    return ["git status", "git pull", "git add -A && git push"]


@attack
def hooks(person: Person) -> list[str]:
    person.repository()
    for hook in ("pre-push", "post-merge", "reference-transaction", "post-checkout", "pre-commit"):
        person.thief(f".git/hooks/{hook}")
    return ["git push origin HEAD:new", "git fetch", "git pull", "git commit --allow-empty -m x && git push"]


@attack
def hooks_path(person: Person) -> list[str]:
    person.repository()
    person.thief(".husky/_/pre-push")
    person.git("config", "core.hooksPath", ".husky/_")
    return ["git push origin HEAD:new"]


@attack
def ssh_command(person: Person) -> list[str]:
    person.repository()
    person.git("config", "core.sshCommand", person.thief("s"))
    return ["git push", "git fetch", "git ls-remote"]


@attack
def included_settings(person: Person) -> list[str]:
    person.repository()
    person.write("more", f"[core]\nsshCommand = {person.thief('s')}\n")
    person.git("config", "include.path", "../more")
    return ["git fetch", "git push"]


@attack
def credential_helper(person: Person) -> list[str]:
    person.repository()
    person.git("remote", "set-url", "origin", "https://ann@127.0.0.1:9/r.git")
    person.git("config", "credential.helper", f"!{person.thief('helper')}")
    return ["git fetch", "git push"]


@attack
def remote_helper(person: Person) -> list[str]:
    person.repository()
    person.git("remote", "set-url", "origin", f"ext::{person.thief('x')} %S r")
    person.git("config", "protocol.ext.allow", "always")
    return ["git fetch", "git push"]


@attack
def rewritten_address(person: Person) -> list[str]:
    person.repository()
    person.git("config", f"url.ext::{person.thief('x')} .insteadOf", "git@server:")
    person.git("config", "protocol.ext.allow", "always")
    return ["git fetch"]


@attack
def upload_pack(person: Person) -> list[str]:
    person.repository()
    person.git("config", "remote.origin.uploadpack", person.thief("x"))
    person.git("remote", "set-url", "origin", str(person.served / "r.git"))
    return ["git fetch", "git fetch git@server:r.git"]


@attack
def filters(person: Person) -> list[str]:
    person.repository()
    person.write(".gitattributes", "* filter=x\n")
    person.git("config", "filter.x.clean", person.thief("x"))
    person.git("config", "filter.x.smudge", person.thief("x"))
    return ["git add -A && git commit -qm b && git push", "git pull", "git checkout . && git fetch"]


@attack
def aliases(person: Person) -> list[str]:
    person.repository()
    person.git("config", "alias.up", f"!{person.thief('x')}")
    return ["git up", "git fetch && git up"]


@attack
def signing_program(person: Person) -> list[str]:
    person.repository()
    person.git("config", "gpg.program", person.thief("x"))
    person.git("config", "commit.gpgsign", "true")
    return ["git commit --allow-empty -m x", "git commit --allow-empty -S -m x && git push"]


@attack
def git_file_of_a_tool(person: Person) -> list[str]:
    """A `.git` file and what it names, written by `write_file`."""
    person.thief("x")
    person.use("write_file", path=".git", content="gitdir: meta\n")
    for name, text in {
        "HEAD": "ref: refs/heads/main\n",
        "config": f'[core]\nsshCommand = {person.work}/x\n[remote "origin"]\nurl = git@server:r.git\n',
        "objects/info/x": "",
        "refs/heads/x": "",
    }.items():
        person.use("write_file", path=f"meta/{name}", content=text)
    (person.work / "meta/refs/heads/x").unlink(missing_ok=True)
    return ["git fetch", "git ls-remote", "git push origin x"]


@attack
def bare_repository(person: Person) -> list[str]:
    """A bare repository in the folder, as a checkout could bring it along."""
    person.thief("x")
    for name, text in {
        "HEAD": "ref: refs/heads/main\n",
        "config": f"[core]\nbare = true\nsshCommand = {person.work}/x\n"
        '[remote "origin"]\nurl = git@server:r.git\n',
        "objects/info/x": "",
        "refs/heads/.x": "",
    }.items():
        person.write(f"sub/{name}", text)
    return ["cd sub && git fetch", "git -C sub ls-remote", "false && cd /tmp; cd sub; git fetch"]


@attack
def unpacked_archive(person: Person) -> list[str]:
    person.repository()
    person.git("config", "core.sshCommand", person.thief("x"))
    with tarfile.open(person.work / "a.tar", "w") as archive:
        archive.add(person.work / ".git/config", ".git/config")
    person.git("config", "--unset", "core.sshCommand")
    return ["tar xf a.tar && git fetch", "tar xf a.tar; git push", "git fetch"]


@attack
def git_beside_another_program(person: Person) -> list[str]:
    """git needs no key here, and runs while another program's are shown."""
    person.repository()
    person.program("kubectl", "#!/bin/sh\nexit 0\n")
    person.git("config", "core.fsmonitor", person.thief("watch"))
    person.git("init", "-q", "--bare", "evil.git")
    person.thief("evil.git/hooks/pre-receive")
    return [
        "git status && kubectl get pods",
        "git -c core.fsmonitor=false push ./evil.git HEAD:x; kubectl get pods",
    ]


@attack
def settings_of_a_submodule(person: Person) -> list[str]:
    person.repository()
    person.git("clone", "-q", "git@server:r.git", "lib")
    person.write(".gitmodules", '[submodule "lib"]\npath = lib\nurl = git@server:r.git\n')
    person.git("add", ".")
    person.git("config", "core.sshCommand", person.thief("x"), folder=person.work / "lib")
    person.git("submodule", "init")
    return ["git submodule update --init --remote", "git pull --recurse-submodules", "git fetch"]


@attack
def settings_of_the_line(person: Person) -> list[str]:
    person.repository()
    x = person.thief("x")
    return [
        f"git -c core.sshCommand={x} fetch",
        f"git fetch --upload-pack={x}",
        f"GIT_SSH_COMMAND={x} git fetch",
        f"GIT_SSH={x} git push",
        f"export GIT_SSH_COMMAND={x}; git push",
        f"git config core.sshCommand {x} && git push",
        f"git --exec-path={person.work} fetch",
        "GIT_DIR=meta git fetch",
        "git --git-dir=meta fetch",
        "PATH=.:$PATH git fetch",
        f"git() {{ {x}; }}; git fetch",
        f"alias git={x}; git fetch",
        f"git fetch & {x}",
        f"git fetch $({x})",
        f"git fetch | {x}",
        f"git rebase --exec {x} HEAD && git fetch",
        f"git submodule foreach {x} && git fetch",
        f"git push; git bisect run {x}",
        "make && git push",
        "./x; git ls-remote",
        f"printf '[core]\\nsshCommand = {x}\\n' >> .git/config; git fetch",
        f"echo {x} > .git/hooks/pre-push; git push origin HEAD:new",
        f"git config alias.fetch '!{x}'; git fetch",
        f"git config core.sshCommand {x}; git fetch",
        f"git config remote.origin.uploadpack {x}; git fetch",
        f"git remote add up 'ext::{x} %S r'; git fetch up",
        f"git remote add -f up 'ext::{x} %S r'; git fetch origin",
    ]


@attack
def program_on_the_path(person: Person) -> list[str]:
    """A folder of the project on PATH, such as that of an activated environment."""
    person.repository()
    person.thief(".venv/bin/git")
    person.thief(".venv/bin/ssh")
    person.program("gh", "#!/bin/sh\nexit 0\n")
    return ["gh pr list", "gh pr checkout 1", "git fetch", "git push"]


@attack
def filters_of_an_embedded_repository(person: Person) -> list[str]:
    """git runs a filter of a submodule where a file has changed but not its size."""
    person.repository()
    _embedded(person, "dep")
    person.git("add", "dep")
    person.git("commit", "-qm", "dep")
    person.write("dep/f", "z")
    lines = [
        "git fetch; git status",
        "git diff && git fetch",
        "git fetch && git diff origin/main",
        "git pull",
    ]
    return [
        *lines,
        "git stash; git fetch",
        "git commit -am y; git push",
        "git add -A && git commit -qm z && git push",
    ]


@attack
def filters_of_a_repository_that_the_line_adds(person: Person) -> list[str]:
    person.repository()
    _embedded(person, "lib/dep")
    person.write("lib/dep/f", "z")
    return ["git add -A; git status; git fetch", "git add lib/dep && git diff; git push"]


def _embedded(person: Person, name: str) -> None:
    """A repository in the project with a filter that an attacker named."""
    folder = person.work / name
    person.write(folder / "f", "x")
    person.git("init", "-q", folder=folder)
    person.git("add", "f", folder=folder)
    person.git("commit", "-qm", "x", folder=folder)
    person.git("config", "filter.x.clean", person.thief("x"), folder=folder)
    person.write(folder / ".gitattributes", "* filter=x\n")


@attack
def scripts_of_npm(person: Person) -> list[str]:
    x = person.thief("x")
    names = ("prepublishOnly", "prepack", "prepare", "preinstall", "postinstall", "test", "version", "view")
    scripts = ", ".join(f'"{name}": "{x}"' for name in names)
    person.write("package.json", f'{{"name": "x", "version": "1.0.0", "scripts": {{{scripts}}}}}')
    return [
        "npm publish --dry-run",
        "npm publish",
        "npm install",
        "npm ci",
        "npm test",
        "npm run view",
        "npm pack",
    ]


@attack
def settings_of_npm(person: Person) -> list[str]:
    x = person.thief("x")
    person.write(
        ".npmrc", f"node-options=--require {x}\nscript-shell={x}\ngit={x}\nregistry=http://127.0.0.1:9/\n"
    )
    person.write(
        "package.json", '{"name": "x", "version": "1.0.0", "dependencies": {"a": "git://127.0.0.1/x"}}'
    )
    return ["npm view left-pad", "npm whoami", "npm install --ignore-scripts"]


@attack
def packages_of_npm_from_git(person: Person) -> list[str]:
    """npm prepares a package from git, and has the settings in there name git, whatever its options say."""
    inner = person.work / "m"
    outer = person.work / "l"
    person.write(inner / "package.json", '{"name": "mm", "version": "1.0.0"}')
    person.write(outer / ".npmrc", f"git={person.thief('x')}\n")
    scripts = {"prepare": person.thief("x")}
    needs = {"mm": f"git+file://{inner}"}
    package = {"name": "ll", "version": "1.0.0", "scripts": scripts, "dependencies": needs}
    person.write(outer / "package.json", json.dumps(package))
    for folder in (inner, outer):
        person.git("init", "-q", folder=folder)
        person.git("add", "-A", folder=folder)
        person.git("commit", "-qm", "x", folder=folder)
    person.write("package.json", '{"name": "x", "version": "1.0.0"}')
    person.write("w/package.json", json.dumps({"name": "w", "dependencies": {"ll": f"git+file://{outer}"}}))
    return [f"npm install --ignore-scripts git+file://{outer}", "npm install --ignore-scripts ./w"]


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:9"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
users:
- name: u
  user: {{exec: {{apiVersion: client.authentication.k8s.io/v1, command: {x}, interactiveMode: Never}}}}
"""


@attack
def plugin_of_a_kubeconfig(person: Person) -> list[str]:
    person.write("kc", KUBECONFIG.format(x=person.thief("x")))
    return [
        "kubectl --kubeconfig kc get pods",
        "kubectl get pods --kubeconfig=kc",
        "KUBECONFIG=kc kubectl get pods",
    ]


@attack
def other_programs(person: Person) -> list[str]:
    """Programs that stand in for those that are not installed: each runs what it is told to."""
    x = person.thief("x")
    for name in ("terraform", "ansible-playbook", "yarn", "cargo"):
        person.program(name, f"#!/bin/sh\nexec {x}\n")
    return [
        "terraform init",
        "terraform plan",
        "ansible-playbook --check p.yml",
        "yarn npm publish",
        "cargo publish",
        "docker compose build",
        f"psql -c '\\! {x}'",
        f"rsync -e {x} a host:b",
        f"ssh -o ProxyCommand={x} host",
    ]
