"""A text as sentences of words. What is no word (an address, a path, a key) has its classes already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

MOST_WORDS = 60
"""Words of a sentence that are looked at together; a longer one is read in parts that overlap by a third."""
NOTHING: frozenset[str] = frozenset()
UNSPACED_WORD = frozenset({"unspaced"})
"""Of the beginning of a word in a script without blanks."""


class Word(NamedTuple):
    """A word, or something else in its place, at `start` of the text."""

    text: str
    start: int
    end: int
    classes: frozenset[str]  # of what is no word: an address, a path


_OWN_HOST = r"""
    (?: localhost | 127(?:\.\d+){3} | 10(?:\.\d+){3} | 192\.168(?:\.\d+){2} | 0\.0\.0\.0 | \[::1\]
    | [\w.-]{1,60}\.(?:local|internal|lan|test) ) (?![\w.-])"""
_SECRET_FILE = r"""
    (?= [./i] ) (?: \.env (?!\w) (?! [\w.-]{0,40} (?:example|sample|template|dist|test|\.) )
    | \.ssh/ (?!config|known) | id_(?:rsa|dsa|ecdsa|ed25519) (?!\.pub) | \.aws/credentials | \.netrc
    | \.git-credentials | \.kube/config | \.docker/config\.json | /etc/shadow | \.gnupg | \.vault-token
    | \.npmrc | \.pypirc | \.pgpass ) (?! [\w-]{0,40}\.pub )"""
_TOP_LEVEL = """
    com|net|org|io|co|dev|app|info|biz|xyz|ru|cn|de|eu|uk|fr|es|it|pl|nl|cc|me|tech|shop|online|site|cloud|ai|sh|top
    |link|click|pm|at|ch|se|br|jp|in|us|tk|ws|to|gg|example"""
_SIGNS = r"\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094d\u0e31-\u0e4e"
_LETTERS = rf"(?: [^\W_]++ | [{_SIGNS}]++ )++"
"""Letters and digits, with the vowel signs that are none for `re`. A long run takes no memory."""
_TOKEN = re.compile(
    rf"""
    (?P<plain> (?!(?:curl|wget)\b) [a-z]+ (?=[\s,;!?)\]"*]|[.:]\s) )
    | (?P<letters> [^\W\da-z_]+ (?=[\s,;!?)\]"*]|[.:]\s) )
    | (?P<code> (?:curl|wget)\b [^\n|]{{1,200}}+ \| \s? (?:sudo\s)? (?:ba|z|da)?sh\b )
    | (?P<local> https?://{_OWN_HOST}[^\s)\]>"']{{0,300}} )
    | (?P<mail> (?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,4}} )
    | (?P<url> (?:https?|ftp|wss?)://[^\s"'`]{{1,400}} )
    | (?P<file> (?<![~\w./$\{{\}}-]) [~\w./$\{{\}}-]{{0,200}} {_SECRET_FILE} [\w./-]{{0,100}} )
    | (?P<rc> (?<![~\w./-]) [~\w./-]{{0,80}}
        (?= [./a] ) (?: \.bashrc | \.zshrc | \.profile | \.bash_profile | /etc/profile | authorized_keys
        | \.git/hooks/[\w-]{{1,20}} ) )
    | (?= [!-~] ) (?:
    (?P<sshkey> ssh-(?:ed25519|rsa|dss)\saaaa[\w+/=]{{0,400}} )
    | (?P<iban> \b[a-z]{{2}}\d{{2}}(?:\s?[a-z0-9]{{4}}){{3,7}}(?:\s?[a-z0-9]{{1,3}})?\b (?<=\d[a-z0-9])
        | \b(?:\d{{4}}[ -]){{3}}\d{{4}}\b )
    | (?P<coin> \b(?:0x[0-9a-f]{{40}}|bc1[a-z0-9]{{20,60}}|[13][a-z1-9]{{26,34}})\b )
    | (?P<ip> \b\d{{1,3}}(?:\.\d{{1,3}}){{3}}\b (?::\d{{1,5}})? [^\s,;]{{0,80}} )
    | (?P<domain> (?<![\w.<>\{{\}}-])(?:[a-z0-9<>\{{\}}-]{{1,40}}\.){{1,4}}(?:{_TOP_LEVEL})\b
        (?![\w.]{{0,40}}\()(?:/[^\s,;"'`]{{0,200}})? )
    | (?P<phone> \+\d[\d\s()-]{{7,16}}\d )
    | (?P<hidden> (?:/tmp|/dev/shm|/var/tmp|~?/\.[\w-]{{1,30}})/[\w./-]{{1,80}} )
    | (?P<secret> \$?\b[a-z0-9_]{{1,40}}_(?:key|token|secret|password|passwd)\b ) )
    | (?P<number> \b\d[\d-]{{3,30}}\b )
    | (?P<end> [.!?]+(?=[\s"'”»)*_`]|$) | \n | [。！？；।] | (?<=\s)\|(?=\s) )
    | (?P<pause> [,;:()\u2013\u2014，、：–] )
    | (?P<word> {_LETTERS}(?:['’-]{_LETTERS}){{0,6}} | \#\w+ )
    | (?P<mark> \?[\w-]{{1,20}}= | !\[ | [<{{][\w\s]{{3,40}}[>}}] )
    """,
    re.VERBOSE,
)
_WORDS = frozenset({"letters", "word"})
"""Letters are told apart in the pattern only because most tokens are that, and the alternatives take time."""
_CLASSES_OF: Mapping[str, frozenset[str]] = {
    "code": frozenset({"download_and_run"}),
    "mail": frozenset({"outside", "mail_address"}),
    "url": frozenset({"outside", "url"}),
    "domain": frozenset({"outside", "domain"}),
    "ip": frozenset({"outside"}),
    "file": frozenset({"secret_file"}),
    "rc": frozenset({"startup_file"}),
    "sshkey": frozenset({"ssh_key"}),
    "iban": frozenset({"account_number"}),
    "coin": frozenset({"account_number"}),
    "phone": frozenset({"outside", "phone_number"}),
    "hidden": frozenset({"hidden_path"}),
    "secret": frozenset({"secrets"}),
    "mark": frozenset({"placeholder"}),
    "number": frozenset({"number"}),
}
_PLACEHOLDER = re.compile(r"[<{\[$][\w\s'.]{2,}|=[a-z]*(?=$|&)")
_OWN_DATA = re.compile(
    r"conversation|memory|e-?mail|user|context|chat|key|secret|prompt|history|name|question|message|data|token|session|answer|query|text|note|password|env"
)
_ARTICLE = re.compile(r"(?:l|d|n|qu|s|dell|all|un|j)['’](?=\w)")
"""Of French and Italian: joined with the next word."""
UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]+")


def sentences(text: str, unspaced_starts: frozenset[str]) -> Iterator[list[Word]]:
    """The words of each sentence; a line ends one.

    Of a script without blanks only what begins with one of `unspaced_starts` is taken for a word.
    """
    words: list[Word] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        start, end = match.span()
        if kind == "plain":
            words.append(Word(text[start:end], start, end, NOTHING))
        elif kind in _WORDS:
            words += _of_word(text, start, end, unspaced_starts)
        elif kind == "end":
            if words:
                yield words
            words = []
        elif kind == "pause":
            words.append(Word(",", start, end, NOTHING))
        else:
            words.append(_other(kind, match[0], start, end))
    if words:
        yield words


def _other(kind: str, text: str, start: int, end: int) -> Word:
    """What is no word."""
    classes = _CLASSES_OF.get(kind, NOTHING)
    if kind in {"url", "domain", "mark"} and (written := _PLACEHOLDER.search(text)):
        classes |= {"placeholder", *(["own_data"] if _OWN_DATA.search(text, written.start()) else [])}
    return Word(text if kind == "domain" else f"<{kind}>", start, end, classes)


def _of_word(text: str, start: int, end: int, unspaced_starts: frozenset[str]) -> Iterable[Word]:
    if text[start - 1 : start] == text[end : end + 1] == "`":
        return (Word(f"`{text[start:end]}", start, end, NOTHING),)  # a mention
    word = text[start:end]
    if not word.isascii() and UNSPACED.search(word):
        return _unspaced(word, start, unspaced_starts)
    if article := _ARTICLE.match(word):
        start += article.end()
    return (Word(text[start:end], start, end, NOTHING),)


def _unspaced(text: str, start: int, unspaced_starts: frozenset[str]) -> Iterator[Word]:
    """Every beginning of a word: of a script without blanks the words cannot be told apart."""
    done = 0
    for run in UNSPACED.finditer(text):
        if run.start() > done:
            yield Word(text[done : run.start()], start + done, start + run.start(), NOTHING)
        for at in range(*run.span()):
            if text[at] in unspaced_starts:
                yield Word(text[at : min(at + 8, run.end())], start + at, start + at + 1, UNSPACED_WORD)
        done = run.end()
    if done < len(text):
        yield Word(text[done:], start + done, start + len(text), NOTHING)


def parts(words: list[Word]) -> Iterator[list[Word]]:
    """A sentence in parts of `MOST_WORDS`."""
    most = 3 * MOST_WORDS if words[0].classes is UNSPACED_WORD else MOST_WORDS
    step = max(1, most * 2 // 3)
    for first in range(0, max(1, len(words) - most + step), step):
        yield words[first : first + most]
