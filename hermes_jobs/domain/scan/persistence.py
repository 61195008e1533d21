"""Rules against what would stay on a machine: keys of others, lines in a shell's start, jobs, open shells."""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule
from hermes_jobs.domain.scan.theft import DENIED

_ssh = partial(rule, "persistence", "tampers with ssh")
_shell = partial(rule, "persistence", "stays in the shell")

_TOOLS = r"(?: direnv | starship | pyenv | rbenv | zoxide | brew | fnm | nodenv | mise | atuin | ssh-agent )"
_HARMFUL = rf"""
    (?: \b(?:curl|wget|nc|ncat|netcat)\b | /dev/tcp/ | \bbase64\b | \b(?:ba|z)?sh\s+-[ic]\b |
    \|\s*(?:ba|z)?sh\b
    | \bpython3?\s+-c\b | \bperl\s+-e\b | \beval\b(?!\s+["']?\$\({_TOOLS}) | LD_PRELOAD | \bnohup\b
    | alias\s+(?:sudo|ssh|su)= | /tmp/ | \bmkfifo\b )"""
_SHELL_START = r"""
    (?: \.bashrc | \.zshrc | \.profile | \.bash_profile | \.bash_login | \.zprofile | \.zshenv | \.zlogin
    | config\.fish | /etc/profile(?:\.d)? | /etc/bash\.bashrc | /etc/rc\.local | \.xinitrc |
    \.config/autostart )"""
_START_WORDS = ".bash .zshrc .profile .zprofile .zshenv .zlogin .fish /etc/ .xinitrc autostart"
_HARMLESS_LINE = rf"""
    (?: export\s+\w+= | alias\s+(?!sudo|ssh|su\b)[\w.-]+= | source\s | \.\s+["'~/$\w] | setopt\s | bindkey\s
    | autoload\s | complete\s | fpath | PATH= | set\s+-o | shopt\s | umask\s | \#
    | eval\s+\\?["']?\\?\$\({_TOOLS} )"""

PERSISTENCE_RULES = (
    _ssh(
        "authorized_keys",
        r"""(?: >{1,2} | \btee\s+(?:-a\s+)? | \b(?: append | add | adds | write | insert | put | copy | inject
        | install | place | echo | cp | mv )\b ) [^\n]{0,160}? \bauthorized_keys2?\b""",
        unless=r"permission|chmod\s+600|mode",
        unless_after=DENIED,
    ),
    _ssh(
        ".ssh/",
        r"""(?: >{1,2}\s* | \btee\s+(?:-a\s+)? | \b(?:cp|mv|install)\s+\S+\s+ )
        ["']? (?: ~ | \$\{?HOME\}? | /root | /home/\w+ ) /\.ssh/ (?: id_ | config | rc | environment )""",
    ),
    _ssh(
        "sshd .ssh",
        r"""\b(?: PermitRootLogin\s+yes | StrictHostKeyChecking[=\s]+no | PasswordAuthentication\s+yes )
        [^\n]{0,80}? (?: >{1,2} | \btee\b | sed\s+-i ) [^\n]{0,40}? sshd?_config
        | \bchmod\s+(?:-R\s+)?[0-7]?[67]{3}\s+\S*\.ssh\b""",
    ),
    _shell(
        _START_WORDS,
        rf"""{_HARMFUL} [^\n]{{0,120}}? (?: >{{1,2}} | \b(?:tee|in|into|to|on)\b ) [^\n]{{0,40}}?
        {_SHELL_START}
        | (?: >{{1,2}} | \b(?:tee|add|append|put|write|insert)\b ) [^\n]{{0,60}}? {_SHELL_START}
          [^\n]{{0,120}}? {_HARMFUL}""",
        unless_after=DENIED,
    ),
    _shell(
        _START_WORDS,
        rf"""\b(?:echo|printf|cat)\b (?! \s+-?\w{{0,2}}\s*\\?["']?\s*{_HARMLESS_LINE} ) [^\n]{{0,160}}?
        (?: >> | \|\s*(?:sudo\s+)?tee\s+-a ) \s*["']?\S*{_SHELL_START}""",
        unless_after=DENIED,
    ),
    _shell(
        "crontab /cron @reboot systemd launchagents rc.local",
        rf"""\|\s*(?:sudo\s+)?crontab\s+- | \bcrontab\b[^\n]{{0,100}}? {_HARMFUL} | @reboot\b[^\n]{{0,60}}?
        {_HARMFUL}
        | (?:>{{1,2}}|\btee\b)\s*(?:-a\s+)?\S*
          (?: /etc/cron | /etc/systemd/ | systemd/user/ | LaunchAgents/ | /etc/rc\.local )
        | {_HARMFUL}[^\n]{{0,100}}? (?: crontab | /etc/cron | systemd/user | LaunchAgents )""",
        unless_after=DENIED,
    ),
    rule(
        "persistence",
        "opens a shell to others",
        "sh exec: mkfifo /dev/tcp sudoers cmd",
        r"""\b(?:ba|z)?sh\s+-i\s*(?:>&|<|\d?>) | /dev/tcp/[\w$.]
        | \bn(?:c|cat|etcat)\s+[^\n|]{0,60}?-[a-z]*[ec]\s+\S*(?:sh|cmd)\b | \bsocat\b[^\n]{0,100}?\bexec:
        | \bmkfifo\b[^\n]{0,120}?\bn(?:c|cat)\b | \bchmod\s+(?:u?\+s|[24]7\d\d)\s+\S*/(?:ba)?sh\b
        | \bNOPASSWD:\s*ALL\b[^\n]{0,60}?sudoers | >>?\s*/etc/sudoers""",
    ),
)
