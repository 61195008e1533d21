"""What no skill should ask an agent to do, by rule: dangerous is refused, caution waits for a person.

These are the rules of skills alone; those that hold for every text are `hermes_jobs.domain.scan`'s. After the
tricks that MITRE ATT&CK names (T1059, T1105, T1053, T1552, T1567) and that public collections of skills were
found to hold.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from hermes_jobs.domain.scan.finding import bounded

Severity = Literal["caution", "dangerous"]
_FLAGS = re.IGNORECASE | re.VERBOSE


class Rule(msgspec.Struct, frozen=True):
    """What is looked for, and what a match means. None counts where `unless` fits it."""

    name: str
    severity: Severity
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None = None


def _rule(severity: Severity, name: str, *patterns: str, unless: str = "") -> Rule:
    """Patterns are read without regard to case; blanks and line ends within them are ignored."""
    pattern = "|".join(f"(?:{each})" for each in patterns)
    excuse = re.compile(bounded(unless), _FLAGS) if unless else None
    return Rule(name, severity, re.compile(bounded(pattern), _FLAGS), excuse)


WARNED_OF = re.compile(
    r"""
    \b (?: never | (?:do|does|must|should|can)\s?n[o'’]t | don[’']?t | avoid | refuse\s+to | instead\s+of
       | rather\s+than | flag | reject | detect | report | warn\s+(?:about|of|against) | (?:look|watch)\s+for
       | spot | block | deny | denies | forbid | disallow ) s? \b [\s`"'«“(]*
    (?: (?: ever | blindly | (?:run|pip|execut|typ|past|copy|call|writ|accept|allow|committ?)(?:e|ing)?
          | us(?:e|ing) | pipe | do | a | an | the | any | every | to | with | in | of | and | or | such | as
          | like | code | scripts? | commands? | things? | lines? | calls? | patterns? | forms? | anything
          | whole | plain | shell | strings? )
      [\s`"'«“(:]+ ){0,8} $""",
    _FLAGS,
)
"""What stands right before a match that is an example of what not to do."""

_GET = r"\b(?:curl|wget|fetch|aria2c|Invoke-WebRequest|Invoke-RestMethod|iwr|irm)\b"
_GOT = r"(?: requests\.get | (?:\w+\.)*urlopen | httpx\.get | fetch ) \s*\("
_INTERPRETER = r"(?:\S*/)? (?: (?:ba|z|da|k|c|fi)?sh | python[\d.]* | perl | ruby | node | php | iex ) \b"
_RUN = rf"(?: (?:sudo|env|nohup)\s+(?:-\S+\s+)* )? {_INTERPRETER}"
_SEND = r"(?: -d | --data(?:-\w+)? | -F | --form | -T | --upload-file | --post-(?:file|data) | -X\s*POST ) \b"
_SECRET_FILE = r"""
    (?: \.ssh/(?:id_|identity) | id_(?:rsa|ed25519|ecdsa|dsa)\b(?!\.pub) | \.aws/credentials | \.netrc
      | \.pgpass | \.git-credentials | \.gnupg/ | \.kube/config | \.docker/config\.json | /etc/shadow
      | /proc/self/environ | Login\ Data | cookies\.sqlite | wallet\.dat | \.hermes-jobs/\.env )"""
_DROP = r"""
    (?: webhook\.site | requestbin\. | \bpipedream\.net | \.ngrok(?:-free)?\.(?:io|app|dev) | burpcollaborator
      | oastify\.com | \.oast\. | interact\.sh | requestcatcher | transfer\.sh | \b0x0\.st | termbin\.com
      | \bix\.io\b | file\.io | pastebin\.com | discord(?:app)?\.com/api/webhooks
      | api\.telegram\.org/bot )"""
_ROOT = r"""
    ["']? (?: / | /\* | ~/? | ~/\* | \$\{?HOME\}?/?
            | /(?:home|etc|usr|var|boot|bin|lib|root|Users)/?\*? ) ["']?
    (?= \s | $ | [;&|`)] )"""
_BUILT = r"""(?: f["'] | ["'][^"'\n]*["']\s*(?:%|\+|\.format) | \w+\s*\+ )"""
"""A text that is put together from others."""

RULES = (
    _rule(
        "dangerous",
        "downloads and runs",
        rf"{_GET} [^\n|]{{0,300}} \|\s* {_RUN}",
        rf"\b(?:(?:ba|z)?sh|source|python3?)\s+(?:-\S+\s+)* <\(\s* {_GET}",
        rf"""(?: \b(?:eval|exec|(?:ba|z)?sh\s+-c|iex|Invoke-Expression|python3?\s+-c)\b | \.\s )
        \s* \(? ["'`]? \s* (?: \$\( | ` | \( | &\s* ) \s* {_GET}""",
        r"\b(?:iex|Invoke-Expression)\b [^\n]{0,120} \b(?:DownloadString|WebClient|iwr|irm)\b",
        rf"\b(?:exec|eval|compile|Function) \s*\(\s* (?:await\s+)? {_GOT}",
        rf"""{_GET} [^\n]{{0,200}}? (?:\s-o|\s-O|--output(?:-document)?|>)[\s=]* (?P<file>[\w./~$-]+)
        [^\n]{{0,200}} (?: \n[^\n]{{0,200}} ){{0,2}}?
        (?: \b(?:(?:ba|z)?sh|source|python3?|sudo)\s+ | &&\s* | ;\s* | \n\s* )
        (?:\./)? (?P=file) (?=\s|$|[;&|`])""",
        unless=r"\|\s* python[\d.]*\s+ (?: -m\s+json | -c )",
    ),
    _rule(
        "dangerous",
        "destroys data",
        rf"\brm\s+ (?:-\S+\s+)* (?: -[a-z]*r[a-z]* | --recursive ) \s+ (?:-\S+\s+)* {_ROOT}",
        r"--no-preserve-root",
        r"\bmkfs(?:\.\w+)?\s+(?:-\S+\s+)*/dev/ | \bwipefs\s+-a\s+/dev/",
        r"\bshred\b[^\n]{0,60}/dev/(?:sd|nvme)",
        r"\bdd\b[^\n]{0,100}\bof=/dev/(?:sd|nvme|hd|vd|disk|mmcblk) | >\s*/dev/(?:sd|nvme|disk)\w",
        r":\(\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:",
        r"\bchmod\s+-R\s+[0-7]?777\s+/(?=\s|$)",
        r"\bfind\s+/\s[^\n]{0,80}-delete\b | \brmtree\(\s*[\"'](?:/|~)[\"']",
    ),
    _rule(
        "dangerous",
        "runs what it decodes",
        rf"\b(?:xxd\s+-r|base64\s+(?:-d|-D|--decode)|openssl\s+(?:enc|base64)\s) [^\n|]{{0,80}} \|\s* {_RUN}",
        r"""\b(?:exec|eval)\s*\(\s* (?:\w+\.)*
        (?:b64decode|a85decode|fromhex|decompress|loads|atob|unhexlify) \s*\(""",
        r"\bpowershell(?:\.exe)?\s[^\n]{0,80} -e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{16,}",
    ),
    _rule(
        "dangerous",
        "opens a shell to others",
        r"\bsocket\s*\( [\s\S]{0,400}? (?: \bdup2\s*\( | pty\.spawn\s*\( | /bin/(?:ba)?sh\b )",
        r"\bnc\b [^\n|]{0,60} -l [^\n|]{0,40} \|\s*(?:ba)?sh\b",
    ),
    _rule(
        "dangerous",
        "reads credentials",
        rf"""(?: \bopen\s*\( | \bPath\s*\( | \bread(?:File|_text|_bytes|Sync)*\s*\( | \bexpanduser\s*\(
        | \bgrep\s[^\n]{{0,60}} | <\s* ) [^\n)]{{0,80}}? {_SECRET_FILE}""",
        r"\bsecurity\s+ (?: find-(?:generic|internet)-password\b [^\n]{0,80} \s-[a-z]*[wg] | dump-keychain )",
        r"\bmimikatz\b[^\n]{0,40}sekurlsa | \blazagne\b\s+all | \bprocdump\b[^\n]{0,60}\blsass",
        r"\bsqlite3\b[^\n]{0,80}(?:Login\ Data|cookies\.sqlite)",
        r"\b169\.254\.169\.254/\S*(?:credentials|token)",
    ),
    _rule(
        "dangerous",
        "sends data away",
        rf"{_GET} [^\n]{{0,200}} \s{_SEND} [^\n]{{0,200}}? {_DROP}",
        rf"{_GET} [^\n]{{0,200}} {_DROP} [^\n]{{0,200}} \s{_SEND}",
        r"\b(?:dig|nslookup|host|ping)\s [^\n]{0,80}? (?: \$\([^\n)]*\) | `[^`\n]+` ) \.\w",
        rf"""\b(?:requests|httpx)\.(?:post|put)\s*\( [^\n]{{0,120}}
        (?: os\.environ\b(?!\s*[\[.]) | {_DROP} | {_SECRET_FILE} )""",
    ),
    _rule(
        "dangerous",
        "leaves its folder",
        r"(?:\.\.[/\\]+){2,} (?:etc|proc|root|home|Users|var|boot|windows|\.(?:ssh|aws|env|hermes-jobs)) \b",
        r"(?: %2e%2e(?:%2f|/) ){2,}",
    ),
    _rule(
        "dangerous",
        "loosens the agent's rules",
        r"\bhermes-jobs\s+config\s+set\s+(?:skills\.guard|terminal\.(?:policy|allow)|files\.roots)",
        r"\bhermes-jobs\s+(?:turns|skills)\s+approve",
        r"\bHERMES_JOBS_(?:SKILLS__GUARD|TERMINAL__POLICY|FILES__ROOTS)\s*=",
    ),
    _rule("dangerous", "mines coins", r"\bxmrig\b | stratum\+(?:tcp|ssl)://"),
    _rule(
        "caution",
        "runs what it is given",
        r"\beval\s+ [\"']? \$(?:\{?[\w@*!]) | \b(?:ba|z|da)?sh\s+-c\s+ [\"']? \$\{?[\w@*]",
        rf"\bos\.(?:system|popen)\s*\(\s* (?: {_BUILT} | \w+\s*\) )",
        rf"\bsubprocess\.\w+\s*\(\s* (?: {_BUILT} | \w+\s*, ) [^\n]{{0,120}} shell\s*=\s*True",
        r"\b(?:exec|eval)\s*\(\s* (?: (?:input|open)\s*\( | (?:sys|process)\.(?:argv|stdin) )",
        r"\b(?:exec|eval)\s*\(\s* req(?:uest)?\.",
        r"\bexec(?:Sync)?\s*\(\s* (?: `[^`\n]*\$\{ | [\"'][^\"'\n]*[\"']\s*\+ )",
        r"\bxargs\b [^\n]{0,60} \b(?:ba|z)?sh\s+-c\s+[\"'][^\"'\n]*\{\}",
    ),
    _rule(
        "caution",
        "stays on the machine",
        r"\bsystemctl\s+--user\s+(?:\S+\s+)*enable\b | \blaunchctl\s+(?:load|bootstrap|submit)\b",
        r"\bschtasks(?:\.exe)?\s+/create\b | @reboot\b | \bcrontab\s+(?:-u\s+\S+\s+)?(?:[~./$]\S|-(?=\s|$))",
        r"\bLD_PRELOAD= | /etc/ld\.so\.preload | CurrentVersion\\+Run\b | \bcore\.hooksPath\b",
        r"(?: >{1,2} | \btee\b | \bcp\s+\S+ ) \s*(?:-a\s+)? \S*\.git/hooks/",
    ),
    _rule(
        "caution",
        "gains rights",
        r"\bNOPASSWD\b | \bvisudo\b | \bsetenforce\s+0 | \bufw\s+disable | \biptables\s+-F | \bsetcap\s+cap_",
        r"\bchmod\s+(?:-\S+\s+)* (?: [ug]*\+s | [246]7[0-7]{2} | [0-7]?777 ) \b",
        r"\bspctl\s+--master-disable | \bcsrutil\s+disable | \bSet-MpPreference\s+-Disable",
        r"\bdocker\s+run\b [^\n]{0,120} (?: --privileged | -v\s*/:/ )",
    ),
    _rule(
        "caution",
        "uploads files",
        r"""\bcurl\b [^\n]{0,160} \s
        (?: (?:-T|--upload-file)\s+ | (?:-F|--form)\s+["']?\w+=@ | --data-binary\s+@ )
        ["']? (?: ~ | / | \$HOME | \$\{HOME\} )""",
    ),
    _rule("caution", "leaves its folder", r"(?:\.\.[/\\]){4,}"),
    _rule(
        "caution",
        "changes who the agent is",
        r"""(?: >{1,2} | \btee\b | \b(?:write|append|add|edit|modify|replace|overwrite|change)\w*\b )
        [^\n]{0,60}?
        (?: \bSOUL\.md | \.hermes-jobs/(?:config\.yaml|\.env|events\.db|plugins) | \.claude/settings )""",
    ),
    _rule(
        "caution",
        "holds a long encoded text",
        r"(?<![A-Za-z0-9+/=]) [A-Za-z0-9+/]{400,}={0,2}",
        unless=r"^ (.) \1+ =* $",
    ),
)
