"""What a sentence gives a value to, where only one value can hold at a time: by rules; no model is asked.

`The user's dentist is Weber` and `Zahnarzt: Keller` fill the same slot, so that the later one takes the place
of the earlier one. A sentence has to be of one of a few forms as a whole: what is not is of no slot.

| form                                                  | slot                       |
|-------------------------------------------------------|----------------------------|
| `Dentist: Weber`, `My dentist is Weber`               | whose, and which of `_ONE` |
| `Anna's favourite colour is green`                    | whose, and which favourite |
| `Anna lives in Bern`, `Anna has moved to Bern`        | who, `town`                |
| `Anna prefers tea over coffee`                        | who, both                  |
| `The backup server is nas3.local`                     | the role of the host       |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hermes_jobs.text.entities import entities, shared_word
from hermes_jobs.text.polarity import denied
from hermes_jobs.text.search.folding import fold, normal

LONGEST = 300  # characters of a sentence
_RELATIONS = frozenset(
    "@wife @husband @partner @mother @father @boss @dentist @doctor @landlord".split()  # noqa: SIM905
)
_ONE = frozenset(
    {"address", "email", "email address", "employer", "home town", "hometown", "phone", "phone number"}
    | {"time zone", "timezone", "town", "city", "birthday"}
)
"""Of these a person has one, beside the relations."""
_SAME = {"city": "town", "home town": "town", "hometown": "town", "timezone": "time zone"}
_SAME |= {"email address": "email", "phone number": "phone"}
_PERSON = frozenset({"", "i", "my", "user", "the user", "ich", "mein", "meine"})
"""What the person who talks to the agent is called."""

_IS = r"(?:\s*[:=]\s*|\s+(?:is|ist|es|est)\s+(?:now\s+|jetzt\s+)?(?:called\s+)?)"
_WHAT = r"(?:new\s+|current\s+|neue[rs]?\s+)?(?P<what>favou?rite \w+|\w+(?: \w+)?)"
_OWNED = rf"(?:(?:the\s+)?(?P<of>\w[\w ]{{0,40}}?)['’]s|my|meine?)\s+{_WHAT}{_IS}"
_KEYED = rf"(?P<of>){_WHAT}\s*[:=]\s*"
_ATTRIBUTES = tuple(re.compile(rf"{pattern}(?P<value>.+)", re.IGNORECASE) for pattern in (_OWNED, _KEYED))
_OF_PERSON = re.compile(
    r"(?P<value>.+) (?:is|ist) (?:my|the user['’]s|meine?) (?:new )?(?P<what>\w+)", re.IGNORECASE
)
_LIVES = re.compile(
    r"(?:(?:the user['’]s|my|meine?) \w+,? )?(?P<who>\w[\w ]{0,40}?)"
    r" (?:now |has |have |is |am )?(?:lives?|living|moved|wohnt|lebt|vive|habite)"
    r" (?:now |jetzt )?(?:from \w+ )?(?:in|to|en|à) (?P<value>(?-i:[^\W\d_a-z]).*)",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"(?P<who>\w[\w ]{0,40}? )?(?:now )?prefers? (?P<value>[\w ]+?) (?:over|to) (?P<other>[\w ]+)",
    re.IGNORECASE,
)


class Slot(NamedTuple):
    """`name` is folded and the same for all sentences about the same; `value` is folded too."""

    name: str
    value: str


def slot_of(text: str) -> Slot | None:
    """What the sentence gives a value to, None where that is not known, or where it denies something."""
    if denied(text):
        return None
    read = " ".join(normal(text[: LONGEST + 1]).split()).rstrip(".!; ")
    return next(_slots(read), None) if len(read) <= LONGEST else None


def are_opposed(one: str, other: str) -> bool:
    """Whether two values of a slot cannot both hold: neither has all words of the other."""
    first, second = (frozenset(re.findall(r"\w+", fold(normal(value)))) for value in (one, other))
    return not first <= second and not second <= first


def _slots(read: str) -> Iterator[Slot]:
    for entity in sorted(entities(read)):
        if entity.kind == "host" and " " in entity.alias:
            yield Slot(entity.alias, fold(entity.name))
    if (match := _LIVES.fullmatch(read)) is not None:
        yield _slot(match["who"], "town", match["value"])
    if (match := _PREFERS.fullmatch(read)) is not None:
        both = sorted((fold(match["value"]), fold(match["other"])))
        yield _slot(match["who"], "/".join(both), match["value"])
    for pattern in _ATTRIBUTES:
        if (match := pattern.fullmatch(read)) is not None and (what := _attribute(match["what"])):
            yield _slot(match["of"], what, match["value"])
    if (match := _OF_PERSON.fullmatch(read)) is not None and (what := _attribute(match["what"])):
        yield _slot("", what, match["value"])


def _attribute(what: str) -> str:
    """The attribute by one name in all languages; empty where there may be several of it."""
    folded = fold(what)
    if folded.startswith(("favourite ", "favorite ")):
        return f"favourite {folded.partition(' ')[2]}"
    shared = shared_word(folded)
    if shared in _RELATIONS:
        return shared
    return _SAME.get(folded, folded) if folded in _ONE else ""


def _slot(who: str | None, what: str, value: str) -> Slot:
    owner = fold(who or "").strip()
    return Slot(f"{'' if owner in _PERSON else owner}: {what}", fold(value))
