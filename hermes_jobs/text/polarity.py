"""What a sentence denies: two sentences of the same words say the opposite where one has a negation more.

By words alone; no model is asked. A word may be a negation in one language and not in another (Spanish `no`
and `sin`, French `plus`): a text that has one too many is compared more carefully, never removed for it.
"""

from __future__ import annotations

import re
from functools import cache

from hermes_jobs.text.search.folding import fold
from hermes_jobs.text.search.stems import stem
from hermes_jobs.text.search.terms import Piece, pieces

_WORDS = """
    no not never none nobody nothing neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent
    wont wouldnt shouldnt couldnt hasnt havent hadnt non ex former formerly previously stopped stops stop
    quit quits ceased hardly barely rarely seldom except unless instead false untrue wrong refuses refused
    avoid avoids longer

    nicht nichts nie niemals kein keine keinen keinem keiner keines niemand ohne weder statt außer früher
    ehemals ehemalig falsch selten aufgehört

    ne pas plus jamais sans aucun aucune rien personne ni sauf ancien ancienne faux arrêté

    nunca jamás sin ningún ninguna ninguno nadie nada tampoco salvo excepto dejó dejado falso

    não sem nenhum nenhuma ninguém nem exceto deixou

    senza nessun nessuno nessuna niente nulla tranne smesso

    niet niets nooit geen zonder behalve

    inte ej aldrig ingen inget utan ikke aldri uden uten ingenting

    nigdy bez żaden żadna nikt niciodată fără nincs soha nélkül eivät älä koskaan ilman
    değil yok hiç asla olmadan tidak bukan belum jangan tanpa không chưa chẳng đừng

    не нет ни никогда без никто ничто ничего нельзя кроме ні немає ніколи δεν μην όχι ποτέ χωρίς
    لا ليس ليست لم لن غير بدون ما לא אין בלי אינו אינה नहीं नही न मत बिना
"""
_PARTS = (
    "不",
    "没",
    "沒",
    "无",
    "無",
    "非",
    "未",
    "别",
    "勿",
    "ない",
    "ません",
    "なかった",
    "なく",
    "ずに",
    "않",
    "없",
    "못",
    "아니",
    "ไม่",
    "เลิก",
)
"""Negations in scripts that are written without spaces, or with endings on their words."""
_CONTRACTED = re.compile(r"n['’‘`]t\b", re.IGNORECASE)


def denied(text: str) -> frozenset[str]:
    """The root after each negation of the text, or the negation itself at its end; empty where it denies
    nothing. Texts that deny the same have the same set."""
    all_pieces = list(pieces(fold(_CONTRACTED.sub(" not", text))))
    found: set[str] = set()
    is_open = False
    for piece in all_pieces:
        if _is_negation(piece):
            is_open = True
        elif is_open:
            found.add(stem(piece.text))
            is_open = False
        found.update(f"{part}{piece.text.count(part)}" for part in _PARTS if part in piece.text)
    return frozenset(found | ({""} if is_open else set()))


def negations(text: str) -> int:
    """How many negations the text has: two of them together may deny nothing ("never without")."""
    found = pieces(fold(_CONTRACTED.sub(" not", text)))
    return sum(_is_negation(piece) + sum(map(piece.text.count, _PARTS)) for piece in found)


def _is_negation(piece: Piece) -> bool:
    return piece.kind == "word" and piece.text in _negations()


@cache
def _negations() -> frozenset[str]:
    return frozenset(fold(word) for word in _WORDS.split())
