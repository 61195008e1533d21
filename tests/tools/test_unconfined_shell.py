"""Shell and programs by which an unattended turn without a sandbox came to keys, or left files that last.

Each line of `READS` has printed a key, each of `WRITES` has written outside of the folder.
"""

from __future__ import annotations

import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_jobs.tools.sandbox import Mode

from .keys_support import Person


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    one = Person(tmp_path.resolve(), mode="off")
    _prepare(one)
    yield one
    one.close()


def _prepare(one: Person) -> None:
    """A project with a program that steals, links to harmless folders, archives, and a file with a name."""
    key = one.folder / ".netrc"
    for name in ("ls", "wc", "evil", "1/ls"):
        one.write(name, f"#!/bin/bash\n/bin/cat {key}\n", executable=True)
    one.write("a.txt", "hello\n")
    one.write("names", f"{key}\n")
    (one.folder / "pub").mkdir()
    (one.work / "l").symlink_to(one.folder / "pub")
    autostart = one.folder / ".config/autostart"
    autostart.mkdir(parents=True)
    (one.work / "auto").symlink_to(autostart)
    one.write("d/autos/x.desktop", "evil\n")
    with tarfile.open(one.work / "a.tar", "w") as tar:
        tar.add(one.work / "d/autos", "auto")
    one.write("d/plain", "x")
    (one.work / "0").symlink_to(key)
    (one.work / "10").symlink_to(key)
    one.write(".pgpass", "x\n")
    (one.work / "up").mkdir()
    (one.work / "up/up").symlink_to("..")
    (one.work / "d/nest").mkdir()
    (one.work / "d/nest/up").symlink_to("../..")


READS = [
    "declare -n p=PATH; p=.; ls",
    "typeset -n p=PATH; p=.; ls",
    "for i in 1; do declare -n p=PATH; p=.; done; ls",
    "unset PATH; ls",
    "unset -v P{ATH,X}; ls",
    "wait -n -p PATH; ls",
    "exec {PATH}>f; ls",
    "((PATH=1)); ls",
    "echo $((PATH=1)); ls",
    "p=PATH; p+==.; export $p; ls",
    "BASH_CMDS[wc]=./evil; wc a.txt",
    "BASH_CMDS[wc]+=./evil; wc a.txt",
    "printf -v 'BASH_CMDS[wc]' %s \"$PWD/evil\"; wc a.txt",
    "declare -n n=a; a=.netrc; cat $HOME/$n",
    "f=.n; f+=etrc; cat ~/$f",
    "f=a; unset f; cat ~/${f}.netrc",
    "cd ..; cd project; cd -; cat .netrc",
    "cat l/../.netrc",
    "cd l; cat ../.netrc",
    "curl -s FILE://$HOME/%2enetrc",
    "curl -sL --proto-redir =file,http http://127.0.0.1:9/r",
    "xz -cdf --files=names",
    "xzcat -f --files=names",
    "zstd -dcf --filelist names",
    'read f < names; tr a a < "$f"',
    'read f < names; echo "$(<$f)"',
    "exec 4<names; read -u4 f; exec 5<$f; cat <&5",
    'read f < names; while read -u 5 g; do echo $g; done 5<"$f"',
    "read f < names; { cat; } < $f",
    "read f < names; cat <(<$f)",
    *(
        f"f=.netrc; {never}; cat ~/$f"
        for never in (
            "false && f=a",
            "true || f=a",
            "(f=a)",
            "f=a | cat",
            "f=a & wait",
            "x=$(f=a)",
            "if false; then f=a; fi",
            "while false; do f=a; done",
            "case x in y) f=a;; esac",
            "{ f=a; } | cat",
            "coproc f=a",
            "cat <(f=a)",
            "function g { f=a; }",
            "g() { f=a; }",
            "x=1 y=2 true; (f=a)",
            "(export f=a)",
            "local f=a",
        )
    ),
    "f=.netrc; unset -f f; cat ~/$f",
    "f=.netrc; false && unset f; cat ~/$f",
    "f=; : ${f:=.netrc}; cat ~/$f",
    "cat $((0))",
    "f=a.txt; exec {f}<names; cat $f",
    "false && f=a; cat ~/${f}.netrc",
    "false && for f in a; do :; done; cat ~/${f}.netrc",
    "set -- x; shift; cat ~/$1.netrc",
    "c=./evil; (c=wc); $c a.txt",
    "o=-Kevil; (o=-s); curl $o",
    "v=LD_PRELOAD=./e.so; false && v=x=1; env $v ls",
    *(
        f"{left}; cat ../.pgpass"
        for left in (
            "cd d extra",
            "cd d < missing",
            "cd d | true",
            "cd d & wait",
            "test -d zz && cd d",
            "if false; then cd d; fi",
            "{ cd d; } | cat",
            "mv d e; cd d",
            "cd a.txt",
            "cd zz",
            "cd -P d x",
            "timeout 1 cd d",
            "cd s?b s*",
        )
    ),
    "for OLDPWD in ..; do cd -; done; cat .pgpass",
    "diff .pgpass ..",
    "diff --to-file=.. .pgpass",
    "diff -rN d ..",
    "diff -rN d ../.config",
    "for f in */..; do diff .pgpass $f; done",
    "find . -maxdepth 1 -name .pgpass -exec cat .{} \\;",
    "find . -maxdepth 0 -exec grep -rsh NEEDLE {}. \\;",
    "find d -name plain -execdir cat ../../.pgpass \\;",
    "curl -s -T '../.kub{e,f}/config' http://127.0.0.1:9/",
    'curl -s "file://$PWD/{..,d}/.pgpass"',
    "ln up/up up2 && cat up2/.pgpass",
    "cp -al up/up up2; grep -rsh NEEDLE up2/",
    "rm up2; ln up/* up2; cat up2/.pgpass",
    "mv up/up up2; cat up2/.pgpass",
    "mv d/nest e; cat e/up/.pgpass",
    "docker compose config",
    "docker compose -f x.yml config",
    "docker-compose config",
    "cat /proc/self/cwd/../.pgpass",
]
WRITES = [
    "cp a.txt l/../.bash_login",
    "uniq -c a.txt l/../.bash_login",
    "xxd -r a.txt l/../.bash_login",
    "echo x > l/../.bash_login",
    "sort a.txt -o l/../.bash_login",
    "ln -sf a.txt l/../.bash_login",
    "git diff --no-index --output=l/../.bash_login a.txt names",
    "o=~/.bash; o+=_profile; echo hi > $o",
    "tar xf a.tar",
    "tar -x < a.tar",
    "git mv a.txt auto/x.desktop",
    "curl -s 'http://127.0.0.1:9/{..,x}' -o '#1/.bash_q'",
    "mv d/link q; echo evil > q",
    "cp -P d/link q; echo evil > q",
    "cp -r d e; echo evil > e/link",
    "wget -q http://127.0.0.1:9/down",
    "curl -sO http://127.0.0.1:9/down",
]


@pytest.mark.parametrize("command", READS)
def test_an_unattended_turn_reads_no_key(person: Person, command: str) -> None:
    done = person.run(command, attended=False)
    assert done.refused, done.content
    assert "NEEDLE" not in done.content


@pytest.mark.parametrize("command", WRITES)
def test_an_unattended_turn_writes_nothing_outside(person: Person, command: str) -> None:
    (person.work / "d/link").symlink_to("../../.bash_login")
    (person.work / "down").symlink_to(person.folder / ".bash_login")
    before = sorted(person.folder.rglob("*"))
    assert person.run(command, attended=False).refused
    assert sorted(person.folder.rglob("*")) == before


@pytest.mark.parametrize(
    "command",
    [
        "X=a; X+=b; test $X = ab",
        "D=d && ls $D && N=$(ls $D | wc -l); echo $N",
        "x=1; unset x; echo done",
        "set -euo pipefail; ls -la | head -3",
        "cat d/../a.txt && cd d && cat ../a.txt",
        "for f in *.txt; do wc -l < $f; done",
        "while read -r line; do echo $line; done < a.txt",
        "cp a.txt b.txt && cat b.txt > c.txt && mv c.txt d/ && cat d/c.txt",
        "mkdir out && tar czf out/d.tgz d/plain && tar tf out/d.tgz",
        "((i++)); echo $((i+1))",
    ],
)
def test_everyday_lines_run(person: Person, command: str) -> None:
    for name in ("l", "auto", "ls", "wc", "0", "10", "up/up", "d/nest/up"):
        (person.work / name).unlink()
    done = person.run(command, attended=False)
    assert done.ok, done.content


@pytest.mark.parametrize("sandbox", ["on", "off"])
@pytest.mark.parametrize(
    "command",
    [
        "read v < FILE; echo $v",
        "IFS= read -r v < FILE && printf '%s' $v",
        "exec < FILE; cat",
        "exec 3< FILE; cat <&3",
        "grep -o 'N.*' < FILE",
        "grep = FILE",
        "grep -m1 '' FILE",
        "tar cf e.tar FILE && tar xOf e.tar",
        "zip e.zip FILE",
        "rsync FILE e.txt",
        ". FILE; echo $KEY",
    ],
)
@pytest.mark.parametrize("file", ["~/.env", "~/other/.env", "~/other/secrets.yaml", ".env"])
def test_files_with_keys_are_told_by_their_names(
    tmp_path: Path, command: str, file: str, sandbox: Mode
) -> None:
    one = Person(tmp_path.resolve(), mode=sandbox)
    for name in (".env", "other/.env", "other/secrets.yaml", "project/.env"):
        one.write(one.folder / name, "KEY=NEEDLE\n")
    if file != ".env" or not command.startswith("."):  # those beside the code are for its programs
        assert one.verdict(command.replace("FILE", file)).decision == "ask"
        assert one.run(command.replace("FILE", file), attended=False).refused
    one.write("Makefile", "a:\n\t@cat $(HOME)/.env\n")
    if sandbox == "on" and file == "~/.env":
        assert "NEEDLE" not in one.run("make", attended=False).content
    one.close()


@pytest.mark.parametrize("name", ["run/agent.sock", ".config/x/ssh-agent.1", "run/named.sock"])
def test_agents_are_hidden_wherever_they_are(tmp_path: Path, name: str) -> None:
    """Also those that no variable names: of password managers, and by `IdentityAgent` of ssh's settings."""
    one = Person(tmp_path.resolve())
    one.write(one.folder / ".ssh/config", "Host *\n  IdentityAgent ~/run/named.sock\n")
    (one.folder / name).parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as agent:
        agent.bind(str(one.folder / name))
        agent.listen()
        reach = (
            "import os, socket, sys\nos.chdir(os.path.dirname(sys.argv[1]))\n"
            "socket.socket(socket.AF_UNIX).connect(os.path.basename(sys.argv[1]))\nprint('rea' + 'ched')"
        )
        one.write("reach.py", reach)
        assert "reached" not in one.run(f"python3 reach.py {one.folder / name}", attended=False).content
    one.close()


SERVERS = {
    ".npmrc": ("npm view x version", "//localhost:4873/:_authToken=NEEDLE-npm"),
    ".subversion/auth/svn.simple/1": ("svn info http://localhost:9/x", "<http://localhost:9> realm"),
    ".my.cnf": ("mysql -e 'select 1'", "[client]\nhost = 127.0.0.1\n"),
    ".kube/config": ("kubectl get pods", "server: https://127.0.0.1:6443\ninsecure-skip-tls-verify: true\n"),
    ".config/helm/repositories.yaml": ("helm show chart l/x", "url: http://localhost:8879\n"),
    ".config/gh/hosts.yml": ("gh pr list", "localhost:\n  oauth_token: NEEDLE\n"),
}


@pytest.mark.parametrize("place", SERVERS)
def test_a_key_for_a_server_of_this_machine_is_not_shown_unasked(tmp_path: Path, place: str) -> None:
    """A program of the folder may listen where that server does."""
    command, text = SERVERS[place]
    one = Person(tmp_path.resolve())
    assert one.verdict(command).decision == "allow"
    one.write(one.folder / place, text)
    assert "a server of this machine" in one.verdict(command).rule
    assert one.verdict(command, attended=False).decision == "deny"
    one.close()


def test_a_cluster_of_this_machine_that_proves_itself_is_everyday(tmp_path: Path) -> None:
    one = Person(tmp_path.resolve())
    one.write(one.folder / ".kube/config", "server: https://127.0.0.1:6443\ncertificate-authority-data: x\n")
    assert one.verdict("kubectl get pods").decision == "allow"
    one.close()
