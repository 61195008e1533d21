"""What a person states in a text: not what they ask, doubt, quote, or say that others say.

By words alone, in the languages of `function_words`; what is not known to be a statement of theirs vouches
for nothing, so that a sentence too many here is held and not saved. Time grows with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from hermes_jobs.text.search.folding import fold

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_FENCED = re.compile(r"^(`{3,}).*?(?:^\1|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_MAIL = re.compile(
    r"^[ \t]*(?:from|subject|fwd?|von|betreff|wg|de|objet|asunto|da|oggetto)[ \t]?:.*", re.I | re.M | re.S
)
_QUOTED = re.compile(r'"[^"\n]*"|“[^“”\n]*”|„[^„“”\n]*[“”]|«[^«»\n]*»|»[^«»\n]*«|「[^「」\n]*」')
MOST_QUOTED = 2
"""Words in quotation marks that a person can have as their own, such as a name."""
_CLOSING = " \t.!)]}>\"'“”’»«*_"
_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\d|[@/\\_=]|\w[.:]\w|\w-\w+-\w+-\w")

_ASKING_FIRST = """
    who whom whose what which when where why how is are was were does did can could would should
    wer wen wem wessen was wann wo wohin woher warum wieso weshalb wie welche welcher welches ist sind stimmt
    qui que quoi quel quelle quels quelles quand comment pourquoi combien est
    quien quienes cual cuales cuando donde adonde como cuanto cuanta cuantos cuantas
    chi cosa quale quali quando come perche quanto quanta
    wie wat waar wanneer waarom hoe welke hoeveel klopt
    quem qual quais onde quanto
"""
"""Words that begin a question."""
_ASKING = """
    whether if why wonder wondering ob falls wenn warum wieso weshalb si pourquoi indien waarom caso
"""
"""Words with which a sentence asks, or leaves open, wherever they stand."""
_ASKING_AFTER = re.compile(
    r"\b(?:check|see) that\b|\b(?:make sure|find out|let me know|stelle? sicher)\b"
    r"|\b(?:dimmi|so|sapere|controlla|verifica|chiedo|me|sei|saber|verifique|confira) se\b"
    r"|\b(?:mij|me|niet|controleer|kijk|vraag|weten) of\b"
)
"""What asks in several words; `se` and `of` have other meanings in other languages."""
_REPORTING = """
    say says said saying claim claims claimed claiming allege alleges alleged allegedly supposedly reportedly
    according purportedly pretends pretend pretending wrote writes doubt doubts doubted doubtful suspect
    suspects suspicious rumour rumor verify confirm told mentioned mentions states stated reads asks asked
    thinks believes heard assume suppose forget disregard
    sagt sagte sagen behauptet behauptete behaupten angeblich laut zufolge meint meinte schreibt schrieb
    bezweifle bezweifelt zweifle zweifel verdächtig prüfe überprüfe erzählt erzählte denkt glaubt gehört
    erwähnt erwähnte vergiss angenommen steht
    dit disait prétend prétendent affirme affirment selon doute soupçonne écrit vérifie
    dice dicen dijo afirma afirman según dudo duda sospecho escribe escribió verifica
    dicono disse afferma affermano secondo dubito sospetto scrive
    zegt zei beweert beweerde volgens betwijfel twijfel schrijft schreef
    diz dizem afirmam segundo duvido duvida suspeito escreve escreveu
"""
"""Words with which a sentence reports what others say, or doubts it."""
_FRAUD = """
    phishing fraud fraudulent spam scam scams scammer fake faked hoax spoofed malicious injection
    betrug betrügerisch gefälscht fälschung schwindel hameçonnage arnaque fraude frauduleux estafa fraudulento
    truffa frode falso oplichting nep nepmail golpe falsa
"""
"""Words with which a text is about a deception: nothing in it is its sender's own statement."""
_PARTS = (
    "？", "吗", "嗎", "是否", "如果", "为什么", "為什麼", "怀疑", "懷疑", "声称", "聲稱", "据说", "說", "说",
    "かどうか", "ですか", "ますか", "と言", "と書", "なぜ", "疑", "らしい", "もし",
    "인지", "는지", "니까", "까요", "나요", "왜", "말했", "의심", "만약", "؟",
)  # fmt: skip
_FRAUD_PARTS = ("诈骗", "詐騙", "钓鱼", "釣魚", "骗局", "詐欺", "フィッシング", "偽", "사기", "피싱", "가짜")


def is_address(word: str) -> bool:
    """Whether a word is an address, a path, a number or a joined name: it stands for itself as a whole."""
    return _ADDRESS.search(word) is not None


def without_addresses(sentence: str) -> str:
    """The sentence without its addresses and numbers."""
    return " ".join(word for word in sentence.split() if not is_address(word))


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [each for each in map(str.strip, _SENTENCE.split(text)) if each]


def statements(message: str) -> Iterator[str]:
    """The sentences of a message of a person in which they state something themselves."""
    plain = _MAIL.sub("", _QUOTED_LINE.sub("\n", _FENCED.sub("\n", message)))
    if _words(plain) & _folded(_FRAUD) or _has(plain, _FRAUD_PARTS):
        return
    for each in sentences(_QUOTED.sub(_own_quotation, plain)):
        if _is_statement(each):
            yield each
        elif each.endswith(":"):
            return  # what follows is what it is about


def _own_quotation(quoted: re.Match[str]) -> str:
    return quoted.group() if len(_WORD.findall(quoted.group())) <= MOST_QUOTED else "\n"


def _is_statement(sentence: str) -> bool:
    if "¿" in sentence or sentence.rstrip(_CLOSING).endswith("?") or _has(sentence, _PARTS):
        return False
    if not _folded(_ASKING_FIRST).isdisjoint(_WORD.findall(fold(sentence))[:1]):
        return False
    words = _WORD.findall(fold(without_addresses(sentence)))
    if not _folded(_ASKING, _REPORTING).isdisjoint(words):
        return False
    return _ASKING_AFTER.search(" ".join(words)) is None


def _has(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(without_addresses(text))))


@cache
def _folded(*tables: str) -> frozenset[str]:
    return frozenset(fold(word) for table in tables for word in table.split())
