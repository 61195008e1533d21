"""Redaction of credentials: private keys, values assigned to telling names, forms of well-known keys.

For text that a model reads and need not know, such as the input of a summary: a false alarm costs little.
Every pattern is bounded, so that the time grows with the text and no faster.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator

from hermes_jobs.text.scan.matcher import Span, merged, search
from hermes_jobs.text.scan.rules import credential_rules
from hermes_jobs.text.scan.tables import secrets_of_tables

LONGEST_BLOCK = 40_000  # characters; a PGP key with its photograph is longer and has a password of its own
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_BODY = re.compile(
    r"(?:(?:\s|\\[nr]){0,4}(?:[A-Za-z0-9+/=]{16,400}(?![A-Za-z0-9+/=])|[A-Z][A-Za-z-]{2,20}: [^\n\\]{1,100}))"
    r"{0,999}"
    r"(?:(?:\s|\\[nr]){0,4}[A-Za-z0-9+/]{1,400}(?:…|=))?"
)
"""What follows the beginning of a block without an end: headers, encoded lines, and one that was cut."""

_NAME = r"""
    (?: api[_-]?key | apikey | secret[_-]?access[_-]?key | access[_-]?key(?![_-]?id) | account[_-]?key
    | private[_-]?key | encryption[_-]?key | signing[_-]?key | master[_-]?key | client[_-]?secret | secret
    | (?:auth|access|refresh|bearer|session|bot|id|csrf|api|identity|registry|deploy|user|service)[_-]?token
    | (?:pre[_-]?)?shared[_-]?key | psk | key[_-]?data | (?<![a-z])token(?!s|iz|_count|_limit)
    | passwords? | passwd | passphrase | passcode | pwd | (?<![a-z])(?:pass|pw|sig) | credentials?
    | authorization )"""
_SEPARATOR = r"""(?: \\{0,6}["'`] )? \s{0,4} (?: [:=] (?:\s{0,4}[|>][-+]?\s{1,20})? | => ) \s{0,4}"""
_SECRET_VALUE = re.compile(
    rf"""{_NAME} (?:_[a-z0-9]{{1,20}}){{0,2}} {_SEPARATOR}
    (?: (?P<quote> \\{{0,6}} ["'`] ) (?P<quoted> (?: (?!(?P=quote)) [^\n] ){{1,2000}} ) (?P=quote)
    | (?P<bare> [^\s"'`,;(){{}}<>\[\]\\]{{6,2000}} ) )""",
    re.IGNORECASE | re.VERBOSE,
)
_REST = r"[^\n|;&]{0,200}?"
_PROGRAM_ARGUMENT = rf"""
    \bsshpass [ ] -p [ ]?
    | \b(?:docker|podman|az|helm[ ]registry)[ ]login\b {_REST} [ ] -p [ ]
    | \b(?:mysql|mysqldump|mysqladmin|mariadb|7z|7za|rar|unrar)\b {_REST} [ ] -p(?=[^\s-])
    | \b(?:zip|unzip)\b {_REST} [ ] -P [ ]?
    | \bopenssl\b {_REST} [ ] -k [ ]
    | \bpass: (?=\S)
    | \b(?:curl|wget|https?|xh)\b {_REST} [ ] (?:-[uaU]|--user|--auth|--proxy-user) [ =]? ["']?
      [^\s:"']{{1,60}} :"""
_HEADER = r"""
    (?:x|api|auth|proxy|private|job|dd|ocp|cf|sec|access|subscription|goog|amz)
    (?: -[a-z0-9]{1,20} ){0,4}? - (?:key|token|secret|signature|password|credential)"""
_ARGUMENT = re.compile(
    rf"""(?: --(?:[a-z0-9]{{1,20}}-){{0,3}}
      (?:password|passwd|passphrase|passcode|pass|pwd|token|secret|api-?key|access-?key) [ \t]{{1,4}}
    | {_PROGRAM_ARGUMENT}
    | \bmachine [ ] [^\n]{{1,200}}? \bpassword \s{{1,20}} | \blogin [ ] \S{{1,60}} \s{{1,20}} password [ ]
    | \bpassw(?:d|ord) [ ] (?-i:(?=\S{{0,60}}\d)(?=\S{{0,60}}[A-Z])(?=\S{{0,60}}[a-z]))(?=[^\s,;.]{{8}})
    | <(?:\w{{1,20}}[:_-]?)?(?:password|passwd|secret|token|api-?key)\b [^<>]{{0,60}} >
    | \b{_HEADER} (?: \\{{0,6}}["'] )? [ ]? : [ ]? (?: \\{{0,6}}(?=["']) )? )
    (?P<quote>["'])?
    (?P<value> (?(quote) (?: (?!(?P=quote)) [^\n] ){{3,400}} | [^\s"'`,;|()<>]{{3,400}} ) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A value behind an option of a program, or where files and headers have it, without `=` or `:` before it."""
_REST_OF_HEADER = re.compile(
    r"""\b(?: (?:set-)?cookie [ ]? : \s{0,4} (?P<cookie>)
      | (?:proxy-)?authorization (?: \\{0,6}["'] )? [ ]? : [ ]? (?: \\{0,6}["'] )? [a-z][\w-]{2,30} [ ] )
    (?P<value> (?(cookie) (?= [^\s=;]{1,60} = ) | (?=[^\n]{0,60}\d) ) [^\n"'`\\]{4,2000} )""",
    re.IGNORECASE | re.VERBOSE,
)
"""All of a Cookie header, and of an Authorization header what follows the scheme."""
_PGPASS = re.compile(
    r"""(?: ^ | (?<=\\n) | (?<=["'`]) ) (?:[\w.*-]{1,100}|\[[\da-f:]{2,40}\]) : (?:\d{2,5}|\*)
    (?: : [^\s:"']{1,60} ){2} : (?P<value> (?!\d{1,5}(?!\S)) [^\s:"'\\]{3,200} )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line of PostgreSQL's password file: host:port:database:user:password."""
_BASIC = re.compile(
    r"""\b_?auth (?: \\{0,6}["'] )? \s{0,4} [:=] \s{0,4} (?: \\{0,6}["'] )?
    (?P<value> [A-Za-z0-9+/]{12,2000} ={0,2} )""",
    re.VERBOSE,
)
"""Docker's and npm's `auth`: a name and a password in base64."""
_ECHOED = re.compile(
    r"""\becho [ ] (?P<value> [^\s|]{4,200} ) \s{0,4} \| \s{0,4}
    (?: sudo [ ] (?:-\w{1,4} [ ])? -\w{0,3}S | su [ ]
    | [\w-]{1,20} [ ] (?:login [ ])? [^\n|]{0,60} --password(?:-stdin|-fd) )""",
    re.VERBOSE,
)
_PLACEHOLDER = re.compile(
    r"""\s*(?: \$ | < | \{ | \*{3} | x{4} | \.{3} | … | %\( | your[_ -] | my[_-] | change[_-]?me | \[?redacted
    | null\b | none\b | true\b | false\b | undefined\b | os\. | env[.(\[] | process\. | string\b | str\b )""",
    re.IGNORECASE | re.VERBOSE,
)
_PLAIN = re.compile(r"[a-z_.-]+|\d{1,7}|(?:https?://|[~/.]{1,2}/|/[a-z])\S*", re.IGNORECASE)
"""Bare values that are not secrets: words and names of variables, small numbers, addresses and paths."""


def redact_credentials(text: str, mark: str) -> str:
    """The text with `mark` in the place of every credential that is found."""
    pieces: list[str] = []
    at = 0
    found = (*_blocks(text), *_values(text), *_arguments(text), *_known_forms(text), *secrets_of_tables(text))
    for start, end in merged(found):
        pieces += (text[at:start], mark)
        at = end
    return "".join((*pieces, text[at:]))


def _blocks(text: str) -> Iterator[Span]:
    """Private keys, from their first line to their last; without a last one as far as they look like one."""
    at = 0
    ends = [match.end() for match in _END.finditer(text)]
    following = iter(ends)
    end = next(following, None)
    while begun := _BEGIN.search(text, at):
        while end is not None and end <= begun.end():
            end = next(following, None)
        if end is not None and end - begun.start() <= LONGEST_BLOCK:
            at = end
        else:
            body = _BODY.match(text, begun.end())
            at = body.end() if body else begun.end()
        yield begun.start(), at


def _values(text: str) -> Iterator[Span]:
    """What is assigned to a name that tells of a secret, in JSON, YAML, a shell or code."""
    for match in _SECRET_VALUE.finditer(text):
        group = "bare" if match["bare"] is not None else "quoted"
        value = match[group]
        if _PLACEHOLDER.match(value) or (group == "bare" and _PLAIN.fullmatch(value)):
            continue
        yield match.span(group)


def _arguments(text: str) -> Iterator[Span]:
    """What programs are given as a password or a token."""
    for pattern in (_ARGUMENT, _ECHOED, _REST_OF_HEADER, _PGPASS):
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.match(match["value"]):
                yield match.span("value")
    for match in _BASIC.finditer(text):
        if _is_name_and_password(match["value"]):
            yield match.span("value")


def _is_name_and_password(encoded: str) -> bool:
    try:
        return ":" in b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return False


_UNMARKED = re.compile(
    r"""\b [MNO][A-Za-z0-9_-]{23,27} \. [A-Za-z0-9_-]{6} \. [A-Za-z0-9_-]{27,40} (?![\w-])   # Discord's bots
    | \b SK[0-9a-f]{32} \b | (?<=\bAC[0-9a-f]{32}) [\s:,"'\\]{1,8}
        (?: (?:auth[\s_-]?)? token [\s:=,"'\\]{1,8} )? [0-9a-f]{32} \b       # Twilio
    | \b [0-9a-f]{32}-us\d{1,2} \b | \b LTAI[A-Za-z0-9]{16,24} \b       # Mailchimp, Alibaba
    | \$ (?:apr1|[1256y]|2[abxy]|argon2\w{1,2}|scrypt|pbkdf2[\w-]{0,20}) \$ [^\s:"'\\,]{8,400}  # hashes
    | \b discord(?:app)?\.com/api/(?:v\d{1,3}/)?webhooks/ \d{5,30} / [\w-]{30,400}
    | \b webhook\.office\.com/webhookb2/ [\w@/-]{30,400}""",
    re.VERBOSE,
)
"""Keys whose form has no word that a rule could be looked for by."""


def _known_forms(text: str) -> Iterator[Span]:
    yield from (match.span() for match in _UNMARKED.finditer(text))
    yield from ((match.start, match.end) for match in search(text, credential_rules()).matches)
