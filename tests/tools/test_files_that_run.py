"""Files of a project that programs run by themselves: which ones ask, by a file tool or by a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_jobs.kernel.engine.ports import Verdict
from hermes_jobs.tools.path_policy import PathPolicy
from hermes_jobs.tools.policy import CommandPolicy
from hermes_jobs.tools.sensitive_paths import guarded_names
from tests.tables import each_row

from .support import context_in

PATHS = PathPolicy(home="/home/ann/.hermes-jobs", user_home="/home/ann")
WORKDIR = "/home/ann/project"
RULE = "writing files that run by themselves"
ALLOWED = Verdict("allow")

ENTERED = """
    .envrc .shadowenv.d/1.lisp mise.toml mise.local.toml mise.prod.local.toml .mise.ci.toml
    .mise/config.local.toml .config/mise.ci.toml .config/mise/config.ci.toml mise/conf.d/a.toml
    .config/mise/conf.d/a.toml app.code-workspace .lite_project.lua lefthook-local.yml .lefthook-local.json
    .config/lefthook-local.toml .openhands/setup.sh .github/hooks/a.json .windsurf/hooks.json sub/MISE.CI.TOML
    .VSCode/tasks.json"""
STARTED = """
    rust-toolchain rust-toolchain.toml .cargo/config .cargo/config.toml sub/.Cargo/Config.toml
    .direnv/flake.rc lefthook.toml .lefthook.yaml .config/lefthook.json .yarnrc .yarnrc.yml .pnpmfile.cjs
    .mvn/extensions.xml .mvn/jvm.config .mvn/maven.config .bazelrc .sbtopts .jvmopts .Rprofile .RPROFILE
    .Renviron .irbrc .pryrc .iex.exs .erlang .ghci .octaverc .pdbrc .perldb .gdbinit .lldbinit"""
ORDINARY = """
    README.md mise.md config/mise.toml.md app.code-workspaces rust-toolchain.md rust-toolchain/a.txt
    cargo/config.toml .cargo/audit.toml .mvn/wrapper/maven-wrapper.jar lefthook.md .direnv/flake.json
    .github/workflows/a.yml .Rproj pdbrc"""
# Of these docs/adr/0221-files-that-programs-run.md says why.
LEFT_OUT = """
    .run/app.xml .zed/tasks.json .zed/debug.json .fleet/run.json .vs/tasks.vs.json .theia/tasks.json .lvimrc
    .lazy.lua .autoenv .autoenv.zsh .emacs.desktop .gnuplot"""


def command(text: str) -> Verdict:
    return CommandPolicy(paths=PATHS).verdict(text, context_in(WORKDIR))


@each_row([*ENTERED.split(), *STARTED.split()])
def test_to_write_one_asks(name: str) -> None:
    assert PATHS.verdict(name, context_in(WORKDIR), writes=True) == Verdict("ask", RULE)
    assert RULE in command(f"echo x > {name}").rule
    assert RULE in command(f"cp x {name}").rule


@each_row([*ORDINARY.split(), *LEFT_OUT.split()])
def test_to_write_another_does_not(name: str) -> None:
    assert PATHS.verdict(name, context_in(WORKDIR), writes=True) == ALLOWED
    assert command(f"echo x > {name}") == ALLOWED


def test_to_read_one_asks_only_where_it_has_keys() -> None:
    names = (*ENTERED.split(), *STARTED.split())
    asking = [name for name in names if PATHS.verdict(name, context_in(WORKDIR), writes=False) != ALLOWED]
    assert asking == [".Renviron"]
    assert command("cat ~/.yarnrc.yml").rule == "reading keys or passwords"


@each_row(
    [
        "cargo new app && cd app && cargo build",
        "cargo build --config .cargo/config.toml",
        "yarn install",
        "git clone https://github.com/a/b",
        "git switch main",
        "git add rust-toolchain.toml .cargo/config.toml .yarnrc.yml",
        "git diff -- .bazelrc",
        "cat rust-toolchain.toml .bazelrc .mvn/jvm.config",
        "test -f .yarnrc.yml && grep yarnPath .yarnrc.yml",
        "prettier --write .yarnrc.yml",
        "bazel --bazelrc=.bazelrc build //...",
        "code app.code-workspace",
    ]
)
def test_everyday_work_beside_them_does_not_ask(text: str) -> None:
    assert command(text) == ALLOWED


@pytest.mark.parametrize("name", guarded_names())
def test_the_table_has_star_in_single_names_only(name: str) -> None:
    first, *rest = name.split("/")
    assert "**" not in name
    assert not ("*" in first and rest), "guarded_files.places_of knows no such name"


GIT_OUTSIDE = [
    "git checkout-index --prefix=../.bash_ -a",
    "git checkout-index --prefix ../.bash_ rc",
    "git checkout-index --pref=../x/ -a",
    "git checkout-index --prefix=/home/ann/.bash_ --stdin",
    "git ls-files | xargs git checkout-index --prefix=../x/",
    "git archive -o ../x.zip HEAD",
    "git bundle create -q ../x.bundle HEAD",
    "git format-patch -o ../x HEAD~1",
    "git worktree add ../x",
    "git worktree add -b topic ../x main",
    "git worktree move x ../y",
    "git show --output=../x HEAD",
    "git diff --outp=../x",
    "git log -p --output ../x",
    "git bugreport -o ..",
    "git diagnose --output-directory=../x",
    "git fast-export --export-marks=../x HEAD",
    "git fast-import --export-pack-edges=../x",
    "git fast-import --allow-unsafe-features < x",
    "git mailsplit -o../x mbox",
    "git mailinfo message ../patch < x",
    "git init --separate-git-dir ../x",
    "git init -b main ../x",
    "git clone --separate-git-dir=../x a b",
    "git clone --depth 1 -b main https://github.com/a/b ../x",
    "git svn clone https://example.com/a ../x",
    "git p4 clone //depot ../x",
    "git apply --build-fake-ancestor=../x a.patch",
    "git read-tree --index-output=../x HEAD",
    "git pack-objects ../x/pack < list",
    "git merge-file ../a b c",
    "git interpret-trailers --in-place ../a",
]
GIT_RUN_LATER = [
    "git checkout-index -f --prefix=.git/hooks/ pre-push post-commit",
    "git checkout-index -a --prefix=.git/hooks/",
    "git checkout-index -a --prefix=.git/ho",
    "git checkout-index --prefix=.env rc",
    "git checkout-index --prefix=.v -a",
    "git ls-files | git checkout-index --prefix=.vscode/ --stdin",
    "git checkout-index .envrc",
    "git -C sub checkout-index --prefix=.git/hooks/ pre-push",
    "git archive -o .git/hooks/pre-push HEAD",
    "git -C .git archive -o hooks/pre-push HEAD",
    "git -C .git log --output=hooks/post-commit",
    "git bundle create .git/hooks/pre-push HEAD",
    "git bugreport -o .git/hooks -s x",
    "git fast-export --export-marks=.git/hooks/pre-push HEAD",
    "git mailsplit -o.git/hooks mbox",
    "git mailinfo .git/hooks/pre-push patch < x",
]


@each_row(
    [
        *(("writing outside the working folder", each) for each in GIT_OUTSIDE),
        *((RULE, each) for each in GIT_RUN_LATER),
    ]
)
def test_what_git_is_told_to_write_is_seen(rule: str, text: str) -> None:
    assert rule in command(text).rule


@each_row(
    [
        "git checkout-index --prefix=out/ -a",
        "git checkout-index -a",
        "git checkout-index --prefix=/tmp/x/ src/app.py",
        "git archive -o out.zip HEAD",
        "git bundle create repository.bundle HEAD",
        "git worktree add -b topic trees/topic main",
        "git clone --depth 1 -b main https://github.com/a/b sub",
        "git init -b main sub",
        "git fast-export --all > /tmp/x",
        "git fast-import --export-marks=marks < x",
        "git mailinfo message patch < x",
        "git merge-file -p ../a b c",
        "git bugreport -o reports",
    ]
)
def test_what_git_writes_in_the_folder_does_not_ask(text: str) -> None:
    assert command(text) == ALLOWED


def test_names_and_prefix_count_from_the_top_of_the_work_tree(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".github").mkdir()
    judged = CommandPolicy(paths=PATHS).verdict(
        "git checkout-index --prefix=x/ hooks/a.json", context_in(tmp_path / ".github")
    )
    assert RULE in judged.rule
