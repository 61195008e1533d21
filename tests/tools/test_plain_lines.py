"""What the shell may read in another way than the rules do shows no key, whatever it is.

Each line of `HIDING` has started a program that the rules did not see, beside git with a key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_jobs.tools import sandbox
from hermes_jobs.tools.invocations import invocations
from hermes_jobs.tools.plain_line import may_stay, unusual
from hermes_jobs.tools.sandbox import Layer
from tests.tables import sampled

from .keys_support import LAYERS, Person, Recorder

HIDING = [
    "echo $[1<<E]\n./x\nE]",
    "echo $[1 << 2]\n./x\n2]",
    "cat <<EF\nE\\\nF\n./x\nEF",
    "cat <<EF\nE\\\nF\n./x\n\nEF",
    "cat <<-EF\n\tE\\\nF\n./x\nEF",
    "for ((i=0;i<1;i++)) { ./x; }",
    "for ((i=0;i<1;i++)) do ./x; done",
    "for i do ./x; done",
    "set -- a; for i { ./x; }",
    "time { ./x; }",
    'echo "$\\\n(./x)"',
    "cat <<E\n$\\\n(./x)\nE",
    "echo $\\\n'\\'; ./x #'",
    "echo \"${q-'$(./x)'}\"",
    "echo \"${q:='$(./x)'}\"",
    "cat <<< \"${q-'$(./x)'}\"",
    "cat <<E\n${q-'}$(./x)'}\nE",
    "echo $[ 'a[$(./x >&2)]' ]",
    "for x in 'a[$(./x)]'; do echo $[x]; done",
    "read x < list; echo $[x]",
    "for x in *; do echo $((x)); done",
    "for x in *; do ((x)); done",
    "for x in *; do echo ${HOME:x}; done",
    'for x in a*; do test -v "$x"; done',
    'for x in *; do printf -v "$x" y; done',
    "for SECONDS in 'a[$(./x)]'; do :; done",
    "for RANDOM in $(cat list); do :; done",
    "SECONDS='a[$(./x)]'",
    "declare -i i; i='a[$(./x)]'",
    "f=abc; echo ${f:'a[$(./x >&2)]'}",
    "[[ 'a[$(./x)]' -eq 1 ]]",
    "read 'a[$(./x)]' < list",
]


@pytest.mark.parametrize("line", HIDING)
def test_a_program_that_is_hidden_asks_without_a_sandbox(
    tmp_path: Path, people: Callable[..., Person], recorder: Recorder, line: str
) -> None:
    person = _prepared(people(tmp_path.resolve(), recorder.port, mode="off"))
    for attended in (True, False):
        assert person.run(line, attended=attended).refused
    assert recorder.keys == []


@pytest.mark.skipif(not LAYERS, reason="this machine has no sandbox")
@pytest.mark.parametrize("line", sampled(HIDING, 3))
def test_a_program_that_is_hidden_beside_git_sees_no_key(
    tmp_path: Path,
    people: Callable[..., Person],
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
) -> None:
    person = _prepared(people(tmp_path.resolve(), recorder.port))
    for layer in LAYERS:
        monkeypatch.setattr(sandbox, "layer", lambda name=layer: Layer(name=name))
        for attended in (True, False):
            person.run(f"git ls-remote origin; {line}", attended=attended)
    assert recorder.keys == []


def _prepared(person: Person) -> Person:
    person.repository()
    person.thief("x")
    person.write("list", "a[$(./x)]\n")
    person.write("a[$(bash<x)]", "")
    return person


@pytest.mark.parametrize(
    "line",
    [
        "git push 2>&1 | tail -5",
        "git add -A && git commit -m 'a: it''s (b) $x' && git push",
        "git commit -m \"$(cat <<'EOF'\nfix(a): b's\n\nc\nEOF\n)\" && git push",
        "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
        "aws s3 ls --query \"x[?y=='z']\" > out.txt 2>/dev/null",
        "git log --oneline -5 && \\\n  git status",
        'for f in *.py; do wc -l < "$f" >> n; done  # all of them',
        "x=$(git rev-parse HEAD); echo ${x:0:8} ${x%.py} ${y:-none} $((n + 1))",
        "find . -name '*.py' -exec grep -l x {} + | xargs -0 ls {a,b} 2>&1",
        "if grep -q x a; then echo y; else echo n; fi; while read -r l; do echo $l; done < a",
        "diff <(sort a) <(sort b) || { echo differs; exit 1; }",
        "cat <<EOF > a\n$x is ${y}\nEOF",
        "FOO=1 BAR='a b' make -j2; ! test -f a; (cd a && ls)",
    ],
)
def test_everyday_lines_are_plain(line: str) -> None:
    assert unusual(line) == ""


@pytest.mark.parametrize(
    "line",
    [
        "echo `ls`",
        "echo $[1]",
        "a[1]=2",
        "a=(1 2)",
        "case a in a) ls;; esac",
        "f() { ls; }",
        "[[ -f a ]]",
        "coproc ls",
        "select i in a; do ls; done",
        "for i do ls; done",
        "for OLDPWD in ..; do cd -; done",
        "echo ${!a} ",
        "echo ${a@P}",
        "echo ${a:=b}",
        "echo ${a/b/c}",
        "ca\\\nt a",
        "true &\\\n& ls",
        "cat <<\\E\nE",
        "cat <<-E\nE",
        "cat <<E$x\nE",
        "cat <<E $(\nls)\nE",
        "cat <<E\n`ls`\nE",
        "echo $(cat <<E\nE)\nE\n)",
        "echo $(ls # )\n)",
        "ls \N{NO-BREAK SPACE}a",
        "git -C $'ev\\xff' pull",
        "echo 'a",
        'echo "a',
        "(ls",
        "ls)",
        "ls;;",
        "IFS=x; ls",
        "$",
        "$(" * 20,
    ],
)
def test_what_may_be_read_in_another_way_is_not_plain(line: str) -> None:
    assert unusual(line) != "" or line == "$"


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("cd sub && cat ../a", False),
        ("cd sub; cat ../a", False),
        ("cd sub\nls | head; ls", False),
        ("(cd sub && ls) | head; ls", False),
        ("mkdir -p new && cd new && ls | head", False),
        ("cd new; ls", True),
        ("cd new && ls; cat ../a", True),
        ("cd sub extra; ls", True),
        ("cd sub < missing; ls", True),
        ("cd sub | true; ls", True),
        ("cd sub & ls", True),
        ("test -d zz && cd sub; ls", True),
        ("if test -d zz; then cd sub; fi; ls", True),
        ("if test -d zz; then\nX=1 }\ncd sub && ls\nfi; ls", True),
        ("while false; do\ncd sub && ls\ndone; ls", True),
        ("{ cd sub; } | cat; ls", True),
        ("mv sub s2; cd sub; ls", True),
        ("cd -P sub && ls", True),
        ("cd - && ls", True),
        ("pushd sub && ls", True),
        ("timeout 1 cd sub; ls", True),
        ("cd s?b && ls", True),
        ("bash -c 'cd sub && ls'", True),
        ("ls -la", False),
    ],
)
def test_a_line_goes_on_where_it_was_unless_it_is_certain_to_leave(
    tmp_path: Path, line: str, stays: bool
) -> None:
    (tmp_path / "sub").mkdir()
    found = invocations(line, str(tmp_path), {"HOME": "/home/ann"})
    assert may_stay(line, found) is stays
