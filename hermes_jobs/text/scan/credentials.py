"""Redaction of credentials: private keys, values assigned to telling names, forms of well-known keys.

For text that a model reads and need not know, such as the input of a summary: a false alarm costs little.
Every pattern is bounded, so that the time grows with the text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hermes_jobs.text.scan.matcher import Span, merged, search
from hermes_jobs.text.scan.rules import credential_rules

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
    | (?:auth|access|refresh|bearer|session|bot|id|csrf|api)[_-]?token | (?<![a-z])token(?!s|iz|_count|_limit)
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
_ARGUMENT = re.compile(
    rf"""(?: --(?:[a-z0-9]{{1,20}}-){{0,3}}
      (?:password|passwd|passphrase|passcode|pass|pwd|token|secret|api-?key|access-?key) [ \t]{{1,4}}
    | {_PROGRAM_ARGUMENT}
    | \bmachine [ ] [^\n]{{1,200}}? \bpassword \s{{1,20}} | \blogin [ ] \S{{1,60}} \s{{1,20}} password [ ]
    | \bpassw(?:d|ord) [ ] (?-i:(?=\S{{0,60}}\d)(?=\S{{0,60}}[A-Z])(?=\S{{0,60}}[a-z]))(?=[^\s,;.]{{8}})
    | <(?:\w{{1,20}}[:_-]?)?(?:password|passwd|secret|token|api-?key)\b [^<>]{{0,60}} >
    | \b(?:set-)?cookie : [ ]? [^\s=;]{{1,60}} = )
    (?P<quote>["'])?
    (?P<value> (?(quote) (?: (?!(?P=quote)) [^\n] ){{3,400}} | [^\s"'`,;|()<>]{{3,400}} ) )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A value behind an option of a program, or where files and headers have it, without `=` or `:` before it."""
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
    for start, end in merged((*_blocks(text), *_values(text), *_arguments(text), *_known_forms(text))):
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
    for pattern in (_ARGUMENT, _ECHOED):
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.match(match["value"]):
                yield match.span("value")


def _known_forms(text: str) -> Iterator[Span]:
    return ((match.start, match.end) for match in search(text, credential_rules(), most_words=None).matches)
