"""Commands that a person is asked about first, by what they do. Rules read text only: see `denied`."""

# Paths are compared as text, which pathlib hides.
# ruff: noqa: PTH118, PTH119

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from hermes_jobs.agent.tools import git_commands, services
from hermes_jobs.agent.tools.arguments import written_paths
from hermes_jobs.agent.tools.inline_code import code_acts, reads_unknown
from hermes_jobs.agent.tools.invocations import SHELLS, Invocation, find_starts
from hermes_jobs.agent.tools.launching import launches_others, sets_program
from hermes_jobs.agent.tools.places import SECRETS, SYSTEM_SECRETS, kind_of
from hermes_jobs.agent.tools.roots import is_inside
from hermes_jobs.agent.tools.rules import DELETERS, LISTERS, Place, Rule, path_words
from hermes_jobs.agent.tools.shell import ASSIGNMENT
from hermes_jobs.agent.tools.word_lists import words
from hermes_jobs.agent.tools.words import SUBSTITUTED, UNKNOWN

INTERPRETERS = SHELLS | {"python", "perl", "ruby", "node", "php", "lua"}
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_GLOB = re.compile(r"[*?\[{]")
_RAW_DEVICE = re.compile(
    r"^/dev/(?:[shv]d[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d|rdisk\d|dm-|mapper/|k?mem$|port$)|^/proc/kcore$"
)
_RECURSIVE_READERS = frozenset(words("cp tar zip rsync rg ag ack mv 7z rclone scp bsdtar cpio pax git"))
INSTALLERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        words(
            """
            apt apt-get aptitude dnf yum zypper brew snap flatpak port apk pkg emerge nix-env
            xbps-install
"""
        ),
        frozenset(
            words(
                """
                    install remove purge upgrade dist-upgrade full-upgrade autoremove uninstall reinstall
                    add del -i -e
                    """
            )
        ),
    ),
    **dict.fromkeys(
        words(
            """
            pip pip3 pipx gem conda mamba micromamba cargo go cpan cpanm luarocks opam cabal
            stack raco
"""
        ),
        frozenset(words("install uninstall run inject")),
    ),
    **dict.fromkeys(
        words(
            """
            npm yarn pnpm bun poetry uv pdm hatch rye deno
"""
        ),
        frozenset(
            words(
                """
            install i ci add update uninstall remove sync dlx exec x create init tool
"""
            )
        ),
    ),
}
"""By package manager, the verbs that bring in or take away software."""


def _named(*names: str, harmless: str = "") -> Callable[[Invocation, Place], bool]:
    """A rule for programs by name, except with one of the harmless words."""
    spared = frozenset(harmless.split())
    return lambda invocation, _place: invocation.name in names and spared.isdisjoint(invocation.arguments)


def _program(invocation: Invocation) -> str:
    """The program as it is written."""
    return next((each for each in invocation.written if ASSIGNMENT.fullmatch(each) is None), "")


def _deletes_folders(invocation: Invocation, _place: Place) -> bool:
    """Deleting folders, many files, or what the shell alone will know."""
    name, arguments = invocation.name, invocation.arguments
    if name == "find":
        return "-delete" in arguments
    if name == "rsync":
        return any(each.startswith(("--del", "--remove-source")) for each in arguments)
    if name in DELETERS - {"rm", "unlink"} or (name == "rm" and invocation.has("-r", "-R", "--recursive")):
        return True
    if name in DELETERS | {"mv"}:
        deleted = invocation.operands[:-1] if name == "mv" else invocation.operands
        return invocation.given or any(
            UNKNOWN in each or os.path.basename(each) in ("*", ".*", "**") for each in deleted
        )
    return False


def _changes_rights(invocation: Invocation, _place: Place) -> bool:
    if invocation.name not in ("chmod", "chown", "chgrp"):
        return False
    mode = next(iter(invocation.operands), "")
    setuid = invocation.name == "chmod" and re.fullmatch(r"[ugoa]*[+=][rwx]*s[rwx]*|[2467]\d{3}", mode)
    return bool(setuid) or invocation.given or invocation.has("-R", "--recursive")


def _runs_unseen(invocation: Invocation, _place: Place) -> bool:
    """An interpreter that runs what another program prints, or text that is known only when it runs."""
    name = invocation.name
    if UNKNOWN in name or "{}" in name or (_GLOB.search(name) and "/" in _program(invocation)):
        return True
    if name == "parallel" and not next(iter(invocation.operands), ":::").strip(":+"):
        return True
    if reads_unknown(invocation):
        return True
    if invocation.name in ("eval", "source", "."):
        return any(each.startswith((UNKNOWN, SUBSTITUTED)) for each in invocation.arguments[:1])
    name = re.sub(r"[\d.]+$", "", invocation.name)
    if name not in INTERPRETERS:
        return False
    unseen = (UNKNOWN, SUBSTITUTED) if name in SHELLS else SUBSTITUTED
    if any(each.startswith(unseen) for each in invocation.operands[:1]):
        return True
    return (invocation.piped or invocation.given) and _reads_program(name, invocation.arguments)


def _reads_program(name: str, arguments: Sequence[str]) -> bool:
    """Whether an interpreter that is called so runs its input, not a file or one of its arguments."""
    rest = list(arguments)
    options: list[str] = []
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        options.append(rest.pop(0))
        if name in SHELLS and re.fullmatch(r"-\w*[oO]", options[-1]):  # as in `-euo pipefail`
            del rest[:1]
    letters = {letter for each in options if not each.startswith("--") for letter in each[1:]}
    if name in SHELLS and "s" in letters and "c" not in letters:
        return True  # what follows are its arguments
    if rest[:1] == ["--"]:
        del rest[0]
    if rest and rest[0] not in STANDARD_INPUT:
        return False
    if name in SHELLS:
        return letters.isdisjoint("cn") and not {"--version", "--help"}.intersection(options)
    return all(each in ("-s", "-x", "-e", "-u", "-l", "-i") for each in options)


def _kills_others(invocation: Invocation, _place: Place) -> bool:
    if invocation.name in ("pkill", "killall", "fuser", "xkill"):
        return invocation.name != "fuser" or invocation.has("-k", "--kill")
    if (
        invocation.name != "kill"
        or {"-l", "-L"}.intersection(invocation.arguments)
        or "-0" in invocation.arguments
    ):
        return False
    arguments = invocation.arguments
    targets = arguments[1:] if arguments[:1] and arguments[0].startswith("-") else arguments
    # Without a target it is `xargs` that gives it some.
    return not targets or any(UNKNOWN in each or re.fullmatch(r"-?\d+", each) for each in targets)


def _installs(invocation: Invocation, place: Place) -> bool:
    name, operands = invocation.name, invocation.operands[:3]
    if re.fullmatch(r"python[\d.]*", name) and "-m" in invocation.arguments and operands:
        name, operands = operands[0], operands[1:]
    own = _INSTALL_RULES.get(name)
    if own is not None:
        return own(invocation, operands) and not (name in ("pip", "pip3") and _in_venv(invocation, place))
    if operands[:2] == ("setup.py", "install") or name in ("npx", "bunx", "uvx", "pnpx"):
        return True
    return not INSTALLERS.get(name, frozenset()).isdisjoint(operands[:2])


def _runs_package(_invocation: Invocation, operands: Sequence[str]) -> bool:
    """Of the package managers of JavaScript: `npm init` alone makes a file, `npm init x` runs a package."""
    if operands[:1] in (("exec",), ("x",), ("init",), ("create",)):
        return len(operands) > 1
    return operands[:1] != ("run",) and not INSTALLERS["npm"].isdisjoint(operands[:2])


def _builds_in(invocation: Invocation, _operands: Sequence[str]) -> bool:
    """Of `make` and the like: whether it installs, elsewhere than in a place that is named."""
    installs = {"install", "--install", "uninstall"} & set(invocation.arguments)
    if invocation.has("-n", "--dry-run", "--just-print"):
        return False
    named = ("DESTDIR=", "PREFIX=", "prefix=", "--prefix")
    return bool(installs) and not any(each.startswith(named) for each in invocation.arguments)


_INSTALL_RULES: Mapping[str, Callable[[Invocation, Sequence[str]], bool]] = {
    "pacman": lambda invocation, _operands: invocation.has("-S", "-R", "-U"),
    **dict.fromkeys(
        ("dpkg", "rpm"),
        lambda invocation, _operands: invocation.has("-i", "-e", "-U", "-r", "-P", "--install"),
    ),
    **dict.fromkeys(("make", "gmake", "ninja", "cmake"), _builds_in),
    **dict.fromkeys(("npm", "yarn", "pnpm", "bun"), _runs_package),
    **dict.fromkeys(
        ("pip", "pip3", "cargo"), lambda _invocation, operands: operands[:1] in (("install",), ("uninstall",))
    ),
    "deno": lambda _invocation, operands: (
        operands[:1] == ("install",) or any("://" in each for each in operands)
    ),
    "go": lambda _invocation, operands: (
        operands[:1] == ("install",) or any("@" in each for each in operands[:2])
    ),
    **dict.fromkeys(
        ("poetry", "hatch", "conda"),
        lambda _invocation, operands: (
            operands[:1] not in (("run",), ("init",), ("create",), ("exec",))
            and not INSTALLERS["poetry"].isdisjoint(operands[:1])
        ),
    ),
}
"""Package managers of which the verb alone does not tell."""


def _in_venv(invocation: Invocation, place: Place) -> bool:
    """Whether `pip` is that of an environment in the session's folder."""
    if place.venv:
        return True
    program = _program(invocation)
    path = invocation.path(program) if "/" in program else None
    return path is not None and any(is_inside(path, root) for root in place.roots.real_roots(place.workdir))


def _written(invocation: Invocation) -> list[str]:
    return [*written_paths(invocation), *git_commands.written_folders(invocation)]


def _writes_outside(invocation: Invocation, place: Place) -> bool:
    paths = [path for word in _written(invocation) if (path := invocation.path(word)) is not None]
    # The devices among them lead to wherever this process writes: their own name counts.
    real = [path if path.startswith("/dev/") else place.real(path) for path in paths]
    return any(not any(is_inside(path, root) for root in place.folders) for path in real)


_OWN_PROCESS = re.compile(r"/proc/(?:thread-)?self/(?!root/|cwd/)")


def _kinds(invocation: Invocation, place: Place, named: Sequence[str]) -> Iterator[str | None]:
    """What the files that the words name are of what is the person's own: by name, by link, by pattern."""
    for word in named:
        path = invocation.path(word)
        if path is None:
            yield kind_of("/" + word.rpartition(UNKNOWN)[2].lstrip("/"), place.roots.user_home)
            continue
        if _OWN_PROCESS.match(path):
            continue  # the command's own
        if len(path) > 4096 or (re.search(r"\s", word) and not os.path.lexists(path)):
            continue
        yield from place.kinds(path)
        if _GLOB.search(word) and _may_be_secret(path, place.roots.user_home):
            yield "secret"


def _may_be_secret(pattern: str, user_home: str) -> bool:
    """Whether a pattern can stand for a path at or below one of the secrets."""
    parts = pattern.split("/")
    for each in (*(os.path.join(user_home, one) for one in SECRETS), *SYSTEM_SECRETS):
        wanted = each.split("/")
        if len(parts) < len(wanted):
            continue
        pairs = list(zip(wanted, parts, strict=False))
        if all(fnmatch.fnmatchcase(name, part) for name, part in pairs) and not all(
            part.strip("*") == "" for name, part in pairs if name != part
        ):
            return True
    return False


def _starts_by_itself(invocation: Invocation, place: Place) -> bool:
    return "startup" in _kinds(invocation, place, _written(invocation))


def _reads_credentials(invocation: Invocation, place: Place) -> bool:
    if "secret" in _kinds(invocation, place, _written(invocation)):
        return True
    if invocation.name in LISTERS:
        return any("secret" in _kinds(invocation, place, (each.target,)) for each in invocation.redirects)
    named = [each for each in path_words(invocation) if each not in _patterns(invocation)]
    return "secret" in _kinds(invocation, place, named)


def _patterns(invocation: Invocation) -> tuple[str, ...]:
    """The words that are patterns or scripts of a program, no files."""
    searchers = ("grep", "egrep", "fgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq", "git")
    if invocation.name not in searchers or invocation.has("-e", "-f"):
        return ()
    return invocation.operands[:1]


def reads_whole_home(invocation: Invocation, place: Place) -> bool:
    """Whether it reads all that is in the person's home, keys among them."""
    named = path_words(invocation)
    above = {"/", "/home", "/Users", "/root", os.path.normpath(place.roots.user_home)}
    if invocation.name == "find":
        runs = {"-exec", "-execdir", "-ok", "-okdir"}.intersection(invocation.arguments)
        return bool(runs) and any(
            invocation.path(each) in above for each in find_starts(invocation.arguments)
        )
    recursive = invocation.name in _RECURSIVE_READERS - {"git"} or (
        invocation.name in ("grep", "egrep", "fgrep") and invocation.has("-r", "-R", "--recursive")
    )
    return recursive and any(
        (path := invocation.path(each)) in above or (path or "").removesuffix("/*") in above for each in named
    )


def _reads_raw(invocation: Invocation, _place: Place) -> bool:
    lookers = LISTERS | {"lsblk", "blkid", "df", "udevadm", "smartctl", "file", "findmnt"}
    if invocation.name in lookers or invocation.has("-l", "--list"):
        return False
    return any(_RAW_DEVICE.match(invocation.path(each) or "") for each in path_words(invocation))


_PRIVATE_KEYS = re.compile(r"--export-secret|--export-ssh|--delete-secret|--edit-key|--export-ownertrust")


def _handles_keys(invocation: Invocation, _place: Place) -> bool:
    """Keys and passwords that a program hands out, or other processes' environments."""
    name = invocation.name
    if name in ("gpg", "gpg2"):
        return any(_PRIVATE_KEYS.match(each) for each in invocation.arguments)
    if name == "ps":
        return any(re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", each) for each in invocation.arguments[:1])
    if name == "security":
        return bool(re.search("keychain|password|identity", " ".join(invocation.arguments[:1])))
    if name in (
        "pwdx",
        "cmdkey",
        "chrome-cookies",
        "kwallet-query",
        "ssh-copy-id",
        "gnome-keyring",
        "mimipenguin",
    ):
        return True
    return (name == "ssh-add" and not invocation.has("-l", "-L")) or (
        name == "git" and "credential" in invocation.operands[:1]
    )


def _other_host(invocation: Invocation, place: Place) -> bool:
    if any(each.target.startswith(("/dev/tcp/", "/dev/udp/")) for each in invocation.redirects):
        return True
    if invocation.name in ("rsync", "rclone"):
        return any(re.match(r"[\w.@-]+:|rsync://", each) for each in invocation.operands)
    if invocation.name in words(
        """
            ssh scp sftp telnet nc ncat netcat socat ftp lftp tftp mosh autossh sshfs rsh rlogin
"""
    ):
        return not invocation.has("-V", "--version") and "-z" not in invocation.arguments
    return services.sends_data(invocation, substitutes=place.substitutes) or services.reaches_inside(
        invocation
    )


_QUIET: Mapping[str, str] = {
    "sysctl": r"-w|--write|--system|-p|.*=.*",
    "ip": r"add|del|delete|set|flush|replace|change|exec",
    "ifconfig": r"up|down|\d+(?:\.\d+){3}.*",
    "route": r"add|del|delete|flush",
    "hostnamectl": r"set-.*|hostname",
    "timedatectl": r"set-.*",
    "localectl": r"set-.*",
    "date": r"-s|--set.*",
    "dmesg": r"-C|--clear|-c",
    "journalctl": r"--vacuum.*|--rotate|--flush",
    "history": r"-c|-w|-d",
    "defaults": r"write|delete|import",
    "gsettings": r"set|reset.*",
    "dconf": r"write|reset|load",
    "diskutil": r"(?:erase|partition|unmount|mount|apfs|rename|secureErase).*",
    "nmcli": r"add|modify|delete|up|down|connect|disconnect|off|on",
    "tailscale": r"up|down|set|serve|funnel|login|logout",
    "update-alternatives": r"--(?:set|install|remove|config|auto).*",
    "swapon": r"/.*|-a",
    "zfs": r"destroy|rollback|create|set|rename|receive",
    "zpool": r"destroy|create|add|remove|import|export",
    "btrfs": r"delete|create",
    "rfkill": r"block|unblock",
    "logrotate": r"-f|--force",
    "xdg-mime": r"default",
    "xdg-settings": r"set",
}
"""By program that mostly tells about the system, the words with which it changes it."""

_CHANGERS = words(
    """
        mount umount iptables ip6tables iptables-restore nft ufw firewall-cmd modprobe insmod rmmod depmod
        useradd userdel usermod adduser deluser groupadd groupdel gpasswd passwd chpasswd chage chsh chfn
        visudo vipw swapoff mkswap fdisk parted sfdisk gdisk sgdisk losetup cryptsetup mdadm dmsetup
        lvcreate lvremove lvextend lvreduce vgcreate vgremove pvcreate pvremove hdparm grub-install
        update-grub dracut mkinitcpio update-initramfs efibootmgr setcap setenforce setsebool semanage
        aa-disable aa-complain ldconfig chroot unshare nsenter bwrap capsh tc wg wg-quick openvpn
        dpkg-reconfigure add-apt-repository apt-key update-rc.d chkconfig rc-update csrutil spctl tccutil
        pmset nvram scutil systemsetup tmutil dscl xdotool kexec auditctl machinectl ntpdate hwclock
        resolvectl arp ethtool tune2fs fsck e2fsck resize2fs debugfs xfs_repair wipefs
        """
)


def _changes_system(invocation: Invocation, _place: Place) -> bool:
    if invocation.name in _CHANGERS:
        harmless = {"-l", "--list", "--version", "--help", "-L", "-h"}
        return harmless.isdisjoint(invocation.arguments) and bool(
            invocation.arguments or invocation.name not in ("mount", "arp")
        )
    quiet = _QUIET.get(invocation.name)
    return quiet is not None and any(re.fullmatch(quiet, each) for each in invocation.arguments[:3])


_CONTAINERS_LOOK = frozenset(
    words(
        """
        ps images logs inspect version info get describe ls
        list top stats port diff history events config help
        status template lint show search explain api-resources cluster-info df
        """
    )
)


def _containers(invocation: Invocation, _place: Place) -> bool:
    if invocation.name not in (
        "docker",
        "docker-compose",
        "podman",
        "nerdctl",
        "kubectl",
        "helm",
        "k9s",
        "crictl",
    ):
        return False
    operands = list(invocation.operands)
    while operands and operands[0] in (
        "compose",
        "container",
        "image",
        "volume",
        "network",
        "system",
        "context",
    ):
        operands.pop(0)
    if {"--version", "--help"} & set(invocation.arguments) or not operands:
        return False
    if "--raw" in invocation.arguments:
        return True
    if operands[0] in ("get", "describe") and any(re.match("secrets?(?:/|$)", each) for each in operands[1:]):
        return True
    return operands[0] not in _CONTAINERS_LOOK and operands[:2] not in (
        ["rollout", "status"],
        ["rollout", "history"],
        ["auth", "can-i"],
    )


DANGEROUS: tuple[Rule, ...] = (
    Rule("acting as another user", _named(*words("sudo doas su pkexec runuser gosu su-exec sg newgrp"))),
    Rule("deleting folders or many files", _deletes_folders),
    Rule("changing the rights of many files", _changes_rights),
    Rule("running downloaded or unseen text", _runs_unseen),
    Rule("code on the command line that does more than compute", lambda each, _place: code_acts(each)),
    Rule("having one program run another", lambda each, _place: launches_others(each) or sets_program(each)),
    Rule("having git run another program", lambda each, _place: git_commands.runs_others(each)),
    Rule("rewriting git history or discarding changes", lambda each, _place: git_commands.discards(each)),
    Rule("killing other processes", _kills_others),
    Rule("installing or removing software", _installs),
    Rule("writing files that run by themselves", _starts_by_itself),
    Rule("reading keys or passwords", _reads_credentials),
    Rule("reading keys or passwords", _handles_keys),
    Rule("writing outside the working folder", _writes_outside),
    Rule("another host", _other_host),
    Rule("another host", lambda each, _place: git_commands.sends_elsewhere(each)),
    Rule("publishing or sending", lambda each, _place: services.publishes(each)),
    Rule("changing what a service holds", lambda each, _place: services.controls(each)),
    Rule("changing a database", lambda each, _place: services.changes_database(each)),
    Rule("containers and clusters", _containers),
    Rule(
        "services and timers",
        _named(
            *words("systemctl service launchctl loginctl crontab at batch atrm systemd-run initctl"),
            harmless="""status show cat list list-units list-unit-files list-timers is-active is-enabled -l
                --failed --version""",
        ),
    ),
    Rule("devices, network and accounts of the system", _changes_system),
    Rule("devices, network and accounts of the system", _reads_raw),
)  # fmt: skip
