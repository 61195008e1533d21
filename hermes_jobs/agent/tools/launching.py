"""Programs that run another one which an option or a variable names: it does not look like a command."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hermes_jobs.agent.tools.arguments import values
from hermes_jobs.agent.tools.invocations import Invocation
from hermes_jobs.agent.tools.shell import ASSIGNMENT
from hermes_jobs.agent.tools.word_lists import words

_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "tar": (
        "--checkpoint-action",
        "--to-command",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
        "-F",
    ),
    "bsdtar": ("--use-compress-program",),
    "zip": ("-TT", "--unzip-command"),
    "rsync": ("-e", "--rsh", "--rsync-path"),
    "man": ("-P", "--pager", "-H", "--html"),
    "make": ("--eval",),
    "gmake": ("--eval",),
    "strace": ("-p", "--attach"),
    "ltrace": ("-p",),
    "perf": ("-p", "--pid"),
    "tcpdump": ("-z", "-w"),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "wget": ("--use-askpass", "--execute", "-e"),
    "curl": ("--netrc-file", "-K", "--config"),
    "gcc": ("-wrapper", "-fplugin", "-specs"),
    "nmap": ("--script",),
    "git-shell": ("-c",),
    "ssh-keygen": ("-D",),
    "less": ("-k", "--lesskey-file"),
    "sqlite3": ("-cmd",),
    "mutt": ("-e",),
    "vim": ("-S",),
    "busctl": ("call",),
    "npm": ("--script-shell", "--node-options"),
}
_DEBUGGERS = frozenset(
    words(
        """
            gdb lldb rr gcore pdb jdb cgdb ptrace dtrace bpftrace stap frida x64dbg
"""
    )
)
_PACKERS = frozenset(words("gzip bzip2 xz zstd lzma lz4 pigz pbzip2 lzip compress lbzip2 pixz"))
_NAMED = words(
    """
            start-stop-daemon run-parts dbus-send gdbus busctl tmux screen xterm gnome-terminal
            konsole
"""
)
_HARMLESS_OF = frozenset(
    words(
        """
            ls list-sessions -ls --version -V has-session list-windows list list-units tree
            status
"""
    )
)


def launches_others(invocation: Invocation) -> bool:
    """Whether its options name a program to run, or it makes another process do something."""
    name, arguments = invocation.name, invocation.arguments
    options = _OPTIONS.get(name, ())
    if any(_names(each, option) for each in arguments for option in options):
        return True
    if name in ("tar", "gtar") and any(
        each.split(" ")[0].rpartition("/")[2] not in _PACKERS
        for each in values(invocation, "I", "--use-compress-program")
    ):
        return True
    if name in ("make", "gmake") and any(
        re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)\s*[:+]?=", each) for each in arguments
    ):
        return True
    if name in _DEBUGGERS:
        return not {"--version", "--help"}.intersection(arguments)
    if name in _NAMED:
        return bool(arguments) and _HARMLESS_OF.isdisjoint(arguments[:1])
    if name in ("enable", "hash", "bind", "complete") and invocation.has("-f", "-p", "-x", "-C"):
        return bool(invocation.operands)
    if name in ("less", "more", "view") and any(each.startswith("+") and "!" in each for each in arguments):
        return True
    return name.startswith(("ld-linux", "ld.so", "ld-musl"))


def _names(argument: str, option: str) -> bool:
    if option.startswith("--"):
        return argument == option or argument.startswith(f"{option}=")
    if len(option) > 2:
        return argument == option or argument.startswith(f"{option}=")
    return argument == option or (argument.startswith(option) and not argument.startswith("--"))


_LAUNCHING = frozenset(
    words(
        """
            BASH_ENV ENV LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH GCONV_PATH GIT_SSH
            GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG
            GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS PYTHONSTARTUP
            PYTHONINSPECT PYTHONHOME PERL5OPT PERL5DB RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS
            JDK_JAVA_OPTIONS PROMPT_COMMAND PS4 SHELLOPTS BASHOPTS RSYNC_RSH LESSOPEN LESSCLOSE TAR_OPTIONS
            CVS_RSH SSLKEYLOGFILE MAKEFILES NODE_REPL_EXTERNAL_MODULE ELECTRON_RUN_AS_NODE
            CARGO_BUILD_RUSTC_WRAPPER RUSTC_WRAPPER DOCKER_HOST
            """
    )
)
_PROGRAMS = frozenset(
    words(
        """
            PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR BROWSER
            SSH_ASKPASS GIT_ASKPASS SUDO_ASKPASS FCEDIT PSQL_EDITOR KUBE_EDITOR GH_PAGER DELTA_PAGER
            BAT_PAGER AWS_PAGER
            """
    )
)
_QUIET_PROGRAM = re.compile(
    r"(?:/usr)?(?:/bin/)?(?:cat|less|more|true|false|echo|vi|vim|nvim|nano|emacs|code|:|)(?: -[\w-]+)*"
)
_SETTERS = frozenset(words("export declare typeset readonly local env setenv"))


def sets_program(invocation: Invocation) -> bool:
    """Whether it sets a variable by which other programs run something."""
    found = []
    for each in invocation.written:
        if ASSIGNMENT.fullmatch(each) is None:
            break
        found.append(each)
    if invocation.name in _SETTERS:
        found += invocation.arguments
    return any(_is_launching(each) for each in found)


def _is_launching(assignment: str) -> bool:
    match = ASSIGNMENT.fullmatch(assignment)
    if match is None:
        return False
    name, value = match["name"], match["value"]
    if name in _LAUNCHING or name.startswith(("GIT_CONFIG_KEY_", "BASH_FUNC_")):
        return bool(value)
    if name in _PROGRAMS:
        return _QUIET_PROGRAM.fullmatch(value) is None
    if name == "NODE_OPTIONS":
        return bool(
            re.search(r"(?:^|\s)(?:-r|--require|--import|--eval|-e|--(?:experimental-)?loader)\b", value)
        )
    if name == "PATH":
        return any(
            each in ("", ".") or each.startswith(("/tmp", "/var/tmp", "/dev/shm"))
            for each in value.split(":")
        )
    return False
