"""Rules for secrets themselves: the forms of well-known keys, and what is called a password or a token.

The forms are those that the providers document, as secret scanners such as gitleaks collect them. Every
repetition is bounded: a text without blanks takes no more time than another.
"""

from __future__ import annotations

from functools import partial

from hermes_jobs.domain.scan.finding import rule

_password = partial(rule, "credential", "holds a password")
_token = partial(rule, "credential", "holds a token")
_connection = partial(rule, "credential", "holds a connection string")

_PLACEHOLDER = r"""
    (?: \$ | < | \{ | \*{3} | x{3} | \.{3} | … | your | my[_-] | example | change[_-]?me | placeholder
    | \[?redacted | dummy | sample | todo | none\b | null\b | true\b | false\b | os\. | env\( | process\.
    | vault | secret/ )"""

_KNOWN_FORMS = r"""
    (?-i: \bsk-(?:ant-|proj-|or-|svcacct-|admin-)?[A-Za-z0-9_-]{16,400}
    | \bgh[pousr]_[A-Za-z0-9]{20,400} | \bgithub_pat_[A-Za-z0-9_]{20,400}
    | \bgl(?:pat|dt|rt)-[A-Za-z0-9_-]{16,400}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,400} | \bxapp-\d-[A-Za-z0-9-]{10,400}
    | hooks\.slack\.com/services/T\w+/B\w+/\w{10,400} | \b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b
    | \bAIza[0-9A-Za-z_-]{30,400} | \bya29\.[0-9A-Za-z_-]{20,400} | \bGOCSPX-[A-Za-z0-9_-]{20,400}
    | \bnpm_[A-Za-z0-9]{30,400} | \bpypi-[A-Za-z0-9_-]{30,400} | \bhf_[A-Za-z0-9]{24,400}
    | \bSG\.[\w-]{16,400}\.[\w-]{16,400} | \b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,400}
    | \bwhsec_[A-Za-z0-9]{20,400} | \bdo[opr]_v1_[a-f0-9]{32,400} | \bglc_[A-Za-z0-9+/]{30,400}
    | \bhvs\.[\w-]{20,400} | \bgsk_[A-Za-z0-9]{20,400} | \br8_[A-Za-z0-9]{30,400} | \bpplx-[A-Za-z0-9]{30,400}
    | \btvly-[A-Za-z0-9-]{20,400} | \bsq0(?:atp|csp)-[\w-]{20,400} | \b\d{8,10}:AA[A-Za-z0-9_-]{30,400}
    | \beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,2000}
    | -----BEGIN\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?----- )"""
_FORM_WORDS = """sk- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- gldt- glrt- xox xapp- hooks.slack akia asia
    aroa
    aida aiza ya29. gocspx- npm_ pypi- hf_ sg. sk_ rk_ pk_ whsec_ doo_v1_ dop_v1_ dor_v1_ glc_ hvs. gsk_ r8_
    pplx-
    tvly- sq0 :aa eyj -----begin"""

_WORD = r"""
    (?: password | passwd | passphrase | passcode | pwd | passwort | kennwort | mot\s+de\s+passe | contrasena
    | senha | пароль | 密码 | 密碼 | パスワード | 비밀번호 )"""
_WORDS = """password passwd passphrase passcode pwd passwort kennwort passe contrasena senha пароль 密码 密碼
    パスワード 비밀번호"""
_NO_SECRET = r"""
    (?: secret | safe | strong | weak | wrong | correct | long | short | random | unique | optional |
    mandatory
    | empty | private | known | unknown | here | there | below | above | mine | theirs | yours | okay |
    outdated
    | different | simple | complex | invalid | valid | broken | \w+ed | \w+ing | stored | kept | text | string
    | prompt | field )\b"""
_IS = r"\s* (?: \b(?:is|was|ist|est|es|lautet)\b | : | = | は | 是 | -> | → ) \s*"

CREDENTIAL_RULES = (
    rule(
        "credential",
        "holds a key",
        _FORM_WORDS,
        _KNOWN_FORMS,
        unless=r"example|xxxx|your|placeholder",
        # A header that is searched for is not a key.
        unless_after=r"""\b(?: [ef]?grep | rg | ag | searche?s? | search(?:ing)?\s+for | patterns? |
        headers? )\b
        [^\n]{0,40}""",
    ),
    _password(
        _WORDS,
        rf"""{_WORD} {_IS} ["'`«“]? (?!{_PLACEHOLDER})
        (?=[^\s"'`,;]{{0,400}}\d) (?=[^\s"'`,;]{{0,400}}[A-Za-z!@\#$%^&*])
        [^\s"'`,;<>()]{{5,400}}""",
        unless=r"""/ | \d+\s*(?:characters|chars|days|hours) | \.(?:py|md|ya?ml|json|txt|env|kdbx)\b | sha |
        bcrypt
        | argon | v\d""",
    ),
    _password(
        _WORDS, rf"""{_WORD} {_IS} ["'`«“] (?!{_PLACEHOLDER}) [^\n"'`«»“”]{{4,60}} ["'`»”]""", unless="/"
    ),
    _password(
        _WORDS,
        rf"""\b(?: my | our | the | his | her | their | root | admin | wi-?fi | wlan | login | user | ssh |
        vpn
        | router | database | db )\s+ (?:\w+\s+){{0,2}}? {_WORD} \s* (?:\bis\b|:) \s*
        (?!{_PLACEHOLDER} | {_NO_SECRET}) [a-z]{{5,400}} (?= \s*(?:$|[.!,;]) )""",
    ),
    _token(
        "key token secret",
        rf"""\b(?: api[\s_-]{{0,9}}(?:keys?|secret) | access[\s_-]{{0,9}}(?:key|token)
        | auth[\s_-]{{0,9}}token
        | secret[\s_-]{{0,9}}(?:access[\s_-]{{0,9}})?key | client[\s_-]{{0,9}}secret |
        (?:bearer|private|refresh|bot)[\s_-]{{0,9}}token
        | token | secret ) {_IS} ["'`]? (?!{_PLACEHOLDER})
        (?=[\w+/=.-]{{0,400}}\d) (?=[\w+/=.-]{{0,400}}[A-Za-z]) [A-Za-z0-9_+/=.-]{{12,400}}""",
        unless=r"""/\w+/ | \.(?:py|md|ya?ml|json|txt|env|toml)\b | -\w+-\w+-[a-z]{3,} | \b\d{4}-\d\d-\d\d""",
    ),
    _token(
        "key token secret passw credential pwd",
        rf"""(?-i:\b[A-Z][A-Z0-9_]{{0,60}}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PWD)) \s*=\s* ["']?
        (?!{_PLACEHOLDER}) (?=[^\s"']{{0,400}}\d) (?=[^\s"']{{0,400}}[A-Za-z]) [^\s"'$<>(){{}}]{{8,400}}""",
        unless=r"""(?:CACHE|SORT|PRIMARY|FOREIGN)_KEY | =\s*["']?[~./]""",
    ),
    _token(
        "authorization bearer",
        rf"""\bAuthorization\s*:\s*(?:Bearer|Basic|Token)\s+ (?!{_PLACEHOLDER}) [A-Za-z0-9_+/=.-]{{16,400}}
        | \bBearer\s+ (?!{_PLACEHOLDER}) (?=\S{{0,400}}\d) [A-Za-z0-9_+/=.-]{{24,400}}""",
    ),
    _connection(
        "://",
        rf"""\b[a-z][a-z0-9+.-]{{1,20}}:// [^\s:/@"'<>]{{0,64}} :
        (?! {_PLACEHOLDER} | (?:pass|password|passwd|pw|pwd|secret|token)@ ) [^\s:/@"'<>]{{3,400}}
        @ [\w.-]+""",
    ),
    _connection(
        "password pwd accountkey sharedaccesskey",
        rf"""\b(?: Server | Data\s+Source | Host | AccountName | DefaultEndpointsProtocol | Endpoint |
        dbname )\s*=
        [^\n]{{1,120}}? \b(?: Password | Pwd | AccountKey | SharedAccessKey )\s*=\s*
        (?!{_PLACEHOLDER}) [^;\s]{{4,400}}""",
    ),
)
