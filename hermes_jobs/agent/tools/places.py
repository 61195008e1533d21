"""Which files outside of the home are the person's alone: keys and credentials, and what runs by itself.

The file tools, the rules for commands and the wall around commands all ask here.
"""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from hermes_jobs.agent.tools.word_lists import words

Kind = Literal["secret", "startup"]
KINDS: tuple[Kind, ...] = ("secret", "startup")

SECRETS = (
    *words("""
    .ssh .gnupg .aws .azure .kube .docker/config.json .config/gcloud .config/gh .config/glab-cli
    .config/hub .config/doctl .config/hcloud .config/rclone .config/op .config/sops
    .config/git/credentials .config/containers/auth.json .netrc _netrc .pgpass .my.cnf .mylogin.cnf
    .git-credentials .npmrc .pypirc .gem/credentials .cargo/credentials .cargo/credentials.toml
    .terraformrc .terraform.d/credentials.tfrc.json .vault-token .password-store .local/share/keyrings
    .local/share/kwalletd .age .s3cfg .boto .oci .databrickscfg .kaggle .fly .heroku .tsh .step
    .huggingface/token .cache/huggingface/token .claude/.credentials.json .codex/auth.json
    .config/github-copilot .mozilla .thunderbird .config/google-chrome .config/chromium
    .config/BraveSoftware .config/microsoft-edge .config/Signal .bitcoin .ethereum/keystore .electrum
    Library/Keychains Library/Cookies
"""),
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Firefox",
)
"""Below the person's home: files and folders with keys, passwords, tokens, wallets, sessions of browsers."""

STARTUP = words("""
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
    .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .inputrc .config/fish .config/autostart
    .config/systemd .config/environment.d .config/plasma-workspace .config/git .gitconfig
    .pam_environment .xinitrc .xprofile .xsession .xsessionrc .vimrc .config/nvim .vim .emacs .emacs.d
    .tmux.conf .screenrc .pythonrc .local/share/systemd .local/share/dbus-1 Library/LaunchAgents
""")
"""Below the person's home: what shells, sessions, editors and git run by themselves."""

SYSTEM_SECRETS = words("""
    /etc/shadow /etc/gshadow /etc/sudoers /etc/sudoers.d /etc/ssl/private /root/.ssh
""")

_ANYWHERE_SECRET = re.compile(
    r"^/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem)$|/\.(?:ssh|gnupg|aws|azure|kube|password-store)(?:/|$)|/\.(?:netrc|pgpass|git-credentials|vault-token)$"
    r"|/id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?$|/etc/ssh/ssh_host_\w+_key$"
)
_SHAREABLE = re.compile(r"\.pub$|/\.ssh/(?:known_hosts(?:\.old)?|config)$")
_ANYWHERE_STARTUP = re.compile(
    r"/\.git/(?:.*/)?(?:hooks(?:/|$)|config(?:\.worktree)?$)|/\.(?:husky|githooks)/|\.git/hooks/|/\.(?:bash|zsh)(?:rc|_profile|_login|env)$|/\.(?:profile|zprofile|envrc)$"
    r"|/authorized_keys2?$|/etc/(?:profile|bash\.bashrc|profile\.d/.*|cron[^/]*(?:/.*)?|crontab|rc\.local"
    r"|ld\.so\.preload|ld\.so\.conf.*|init\.d/.*|systemd/.*|pam\.d/.*|environment)$"
    r"|/var/spool/cron(?:/|$)|/(?:site|user)customize\.py$|/site-packages/[^/]*\.pth$|/\.vscode/tasks\.json$"
)

NEEDED: Mapping[str, tuple[str, ...]] = {
    "git": (".ssh", ".gnupg", ".netrc", ".git-credentials", ".config/git", ".config/gh", ".config/hub"),
    "gh": (".config/gh", ".ssh", ".git-credentials"),
    "glab": (".config/glab-cli",),
    "gpg": (".gnupg",),
    "aws": (".aws",),
    "az": (".azure",),
    "gcloud": (".config/gcloud",),
    "gsutil": (".config/gcloud", ".boto"),
    "kubectl": (".kube", ".aws", ".azure", ".config/gcloud"),
    "helm": (".kube",),
    "docker": (".docker/config.json", "/run"),
    "docker-compose": (".docker/config.json", "/run"),
    "podman": (".config/containers/auth.json", "/run"),
    "terraform": (".terraformrc", ".terraform.d/credentials.tfrc.json", ".aws", ".azure", ".config/gcloud"),
    "psql": (".pgpass",),
    "mysql": (".my.cnf", ".mylogin.cnf"),
    "npm": (".npmrc",),
    "pnpm": (".npmrc",),
    "yarn": (".npmrc",),
    "systemctl": ("/run",),
    "journalctl": ("/run",),
}
"""By program, what of its own it needs of these: a line of such programs alone may use them."""


def kind_of(real: str, user_home: str) -> Kind | None:
    """What the file at a real absolute path is of these; None for any other.

    Capitals do not count: there are file systems to which `.SSH` is `.ssh`.
    """
    path = real.casefold()
    below = tuple(_below(path, user_home))
    if _SHAREABLE.search(path):
        return None
    if _ANYWHERE_STARTUP.search(path) or not _STARTUP.isdisjoint(below):
        return "startup"
    if _ANYWHERE_SECRET.search(path) or not _SECRETS.isdisjoint(below):
        return "secret"
    return "secret" if any(path == each or path.startswith(f"{each}/") for each in SYSTEM_SECRETS) else None


_SECRETS, _STARTUP = (frozenset(each.casefold() for each in places) for places in (SECRETS, STARTUP))
_DEEPEST = max(each.count("/") + 1 for each in (*SECRETS, *STARTUP))


def _below(path: str, user_home: str) -> Iterator[str]:
    """The path from the person's home, and the folders there above it; nothing for a path elsewhere."""
    for home in (user_home.casefold(), _real_home(user_home)):
        if path.startswith(f"{home.rstrip('/')}/"):
            parts = path[len(home.rstrip("/")) + 1 :].split("/", _DEEPEST)
            return ("/".join(parts[:length]) for length in range(1, min(len(parts), _DEEPEST) + 1))
    return iter(())


@lru_cache(maxsize=8)
def _real_home(user_home: str) -> str:
    return os.path.realpath(user_home).casefold()


def secret_places(user_home: str) -> Iterator[str]:
    """The real paths of the secrets that exist."""
    yield from _existing(user_home, SECRETS)


def startup_places(user_home: str) -> Iterator[str]:
    """The real paths that exist of what runs by itself."""
    yield from _existing(user_home, STARTUP)


def _existing(user_home: str, places: tuple[str, ...]) -> Iterator[str]:
    for each in places:
        path = os.path.join(user_home, each)
        if os.path.lexists(path):
            yield os.path.realpath(path)


def escapes(uid: int) -> Iterator[str]:
    """The real paths that exist of sockets by which others can be made to run something."""
    for each in (
        "/run/docker.sock", "/run/podman", "/run/containerd", "/run/crio", "/run/systemd/private",
        "/run/dbus/system_bus_socket", f"/run/user/{uid}", f"/tmp/tmux-{uid}", "/run/screen",
    ):  # fmt: skip
        if os.path.lexists(each):
            yield os.path.realpath(each)
