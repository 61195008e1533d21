"""Rules against what would read secrets on a machine or send them away."""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule

_sends = partial(rule, "theft", "sends secrets away")
_reads = partial(rule, "theft", "reads secrets")
_dumps = partial(rule, "theft", "dumps the environment")
_decodes = partial(rule, "theft", "runs what it decodes")

SECRET_NAME = r"(?: \$ \{? \w* (?: key | token | secret | password | passwd | credential | api ) \w* \}? )"
SECRET_FILE = r"""
    (?: (?<![\w.]) \.env \b (?! \.?(?:example|sample|template|dist|test) | rc )
    | id_(?:rsa|ed25519|ecdsa|dsa) \b (?!\.pub) | \.aws/credentials | \.netrc | \.pgpass | \.git-credentials
    | \.npmrc | \.pypirc | \.kube/config | \.docker/config\.json | \.gnupg\b |
    /etc/(?:shadow|passwd|sudoers)\b
    | \.ssh/(?:\*|\s|$) | \w*credentials\.(?:json|ya?ml|ini|txt|csv) | secrets?\.(?:ya?ml|json|env|txt)
    | wallet\.dat | /proc/self/environ | cookies\.sqlite | Login\ Data )"""
_FILE_WORDS = """.env id_rsa id_ed25519 id_ecdsa id_dsa credentials .netrc .pgpass .npmrc .pypirc .kube
    .docker
    .gnupg /etc/ .ssh secret wallet.dat environ cookies login"""
_NAME_WORDS = "key token secret password passwd credential api"
_SECRETS = r"""
    (?: api\s+keys? | access\s+(?:keys?|tokens?) | auth(?:entication)?\s+tokens? | private\s+keys? |
    ssh\s+keys?
    | passwords? | credentials? | secrets | secret\s+keys? | tokens | env(?:ironment)?\s+var(?:iable)?s?
    | session\s+cookies | cookies | \.env(?:\s+file)? | id_rsa | \.netrc | keychain | wallet )"""
_SECRET_WORDS = "key token password credential secret env cookie id_rsa .netrc keychain wallet"
_SENDER = r"""
    \b(?: curl | wget | nc | ncat | netcat | scp | rsync | sftp | ftp | tftp | socat | https? | iwr
    | Invoke-WebRequest | requests\.(?:post|get) )\b (?=[\s(])"""
_WHOLE_ENVIRONMENT = r"(?: \bos\.environ\b(?!\s*[\[.]) | \bprocess\.env\b(?!\s*[\[.]) )"
_SOMEBODYS = r"""
    (?: (?: all | any | every | your | my | their | his | her | our
    | the\s+(?:user|person|owner|operator)['’]s | the\s+user )\s+ (?:of\s+)? (?:(?:the|your|their)\s+)? )"""
_AWAY = r"""
    (?: [^\n]{0,40}? (?: https?:// | [\w.+-]+@[\w-]+\.\w | evil | attacker | webhook | pastebin | telegram
      | discord | \b\d{1,3}(?:\.\d{1,3}){3} )
    | (?: me | us | this | my | an?\s+(?:external|remote|outside|third[\s-]party) )\b )"""

DENIED = r"""
    \b(?: never | not | n['’]t | dont | no | avoid | refuse[sd]? | forbid\w* | instead\s+of )\s+
    (?: (?: run | use | do | ever | to | call | commit | a | an )\s+ )* [`«"'(]?"""
"""What makes of a command something that is not to be done."""

THEFT_RULES = (
    _sends(
        f"{_NAME_WORDS} {_FILE_WORDS} $(",
        rf"""{_SENDER} [^\n]{{0,200}}?
        (?: {SECRET_NAME} | {SECRET_FILE} | \$\(\s*(?:env|printenv|cat)\b | {_WHOLE_ENVIRONMENT} )""",
        # A token in the header that is made for it goes to the service that it belongs to.
        unless=r"""(?: --exclude(?:-from)?[=\s]\s*["']?\S*
        | (?:-H|--header)\s*\\?["'] (?:Authorization|[\w-]*(?:Api-Key|Token)) \s*:\s*
        (?:\w+\s+)? \$\{?\w+\}? | (?:-u|--user)\s*\\?["']? [\w.:-]* \$\{?\w+\}? ) $""",
    ),
    _sends(
        _FILE_WORDS,
        rf"(?: {SECRET_FILE} | \.ssh (?=\s) ) [^\n|]{{0,60}} \| [^\n]{{0,40}}? (?: {_SENDER} | \bssh\s )",
    ),
    _sends(
        f"{_SECRET_WORDS} {_FILE_WORDS}",
        rf"""\b(?: send | upload | post | e-?mail | forward | transmit | exfiltrate | leak | ship | copy |
        smuggle
        | submit | deliver )\s+ (?: (?: me | us | out | a\s+copy\s+of | the\s+contents?\s+of )\s+ )?
        (?: {_SOMEBODYS} (?:[\w-]+\s+){{0,2}}? {_SECRETS} | \S*{SECRET_FILE}\S* )
        [^.\n]{{0,60}}? \b(?:to|into|via|at|through)\s+ (?!the\s+secret) {_AWAY}""",
        unless_after=DENIED,
    ),
    _sends(
        "conversation chat transcript context history notes memory memories",
        r"""\b(?: send | upload | post | e-?mail | forward | transmit | submit | copy | leak | deliver |
        share )\s+
        (?: (?: the | this | our | your | all | whole | entire | full | complete | every | of |
        a\s+copy\s+of )\s+ )*
        (?: conversations? | chat\s+(?:history|log)s? | message\s+history | context(?:\s+window)? |
        session\s+history
        | memor(?:y|ies) (?=\s+(?:to|at|via)\b) )
        [^.\n]{0,40}? \b(?:to|at|via|into)\s+ (?: https?:// | [\w.+-]+@[\w-]+\.\w )""",
        unless_after=DENIED,
    ),
    _sends(
        "exfiltrat",
        rf"\bexfiltrat(?:e|ing)\s+ (?:[\w'’]+\s+){{0,4}}? {_SECRETS}",
        unless_after=rf"{DENIED}|\b(?:can|could|may|might|would|to|attackers?|malware)\s+",
    ),
    _reads(
        _FILE_WORDS,
        rf"""\b(?: cat | bat | less | more | head | tail | type | base64 | xxd | strings | hexdump | od | cp
        | tar
        | zip )\s+ (?:-{{1,2}}[\w=-]+\s+)* (?:[\w~$/.{{}}-]+\s+){{0,2}}? ["']?[\w~$/.{{}}*-]*?
        {SECRET_FILE}""",
        unless_after=DENIED,
    ),
    _reads(
        _NAME_WORDS,
        rf"""\b(?:echo|printf|print)\s+ ["']? (?:[^\n"']{{0,20}}?)? {SECRET_NAME}
        (?= ["']? \s* (?: \| (?!\s*(?:docker\s+login|gh\s+auth|wc|cut|head|sha\w*sum|tail)) | > | $ | [.,;]
        ) )""",
        unless=r"PATH|ROOT|HOME",
        unless_after=DENIED,
    ),
    _dumps(
        "env export declare",
        r"""\b(?: printenv | env | export\s+-p | declare\s+-x )\b\s* (?:\|\s*(?:sort|base64|gzip)\s*)?
        (?: \|\s*(?:curl|nc|ncat|netcat|wget|mail|base64|xxd|openssl|socat|telnet)\b | >{1,2}\s*[/~\w.$] )""",
        # Sorted and kept beside another: what changed between two moments.
        unless=r"\|\s*sort\s*>\s*\w",
    ),
    _dumps(
        "environment env",
        r"""\b(?: dump | print | collect | gather | list | read | grab | output )\s+
        (?: (?:all|every|the|your|of)\s+ ){0,3} (?: env(?:ironment)?\s+var(?:iable)?s? | environment )\b
        [^.\n]{0,60}? \b(?: and\s+(?:then\s+)?(?:send|post|upload|e-?mail|forward|include|append|encode)
        | to\s+(?:https?://|me\b|us\b) )""",
        unless_after=DENIED,
    ),
    _decodes("base64", r"\bbase64\s+(?:-d|-D|--decode)[^\n]{0,80}?\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b"),
    _decodes(
        "eval exec",
        r"\b(?:eval|exec)\s*\(\s*(?: base64 | __import__ | codecs | zlib | bytes\.fromhex | atob )\b",
    ),
)
