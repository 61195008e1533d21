"""People, hosts, paths, projects and preferences that a text names, by rules; no model is asked.

An entity has a name, as it was written, and aliases by which a later text may mean it: `my sister Anna` gives
Anna the alias `@sister`, which `ma sœur` has too. Rules are few and strict: what they miss is found by words,
and what they take wrongly would recall what nobody asked about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple

from hermes_jobs.text.search.folding import fold, normal

Kind = Literal["person", "host", "path", "project", "preference"]

LONGEST = 4_000  # characters that are looked at
GROUP = 3  # words that an alias has at most
MOST_ALIASES = 400  # of a text

_WORDS: Mapping[str, str] = {
    "@sister": "sister schwester hermana soeur sœur sorella irmã zus",
    "@brother": "brother bruder hermano frère fratello irmão broer",
    "@mother": "mother mum mom mutter mama madre mère mãe moeder",
    "@father": "father dad vater papa padre père pai vader",
    "@wife": "wife frau ehefrau esposa mujer femme moglie",
    "@husband": "husband mann ehemann esposo marido mari marito",
    "@partner": "partner partnerin pareja compagne compagnon girlfriend boyfriend freund freundin",
    "@daughter": "daughter tochter hija fille figlia filha dochter",
    "@son": "son sohn hijo fils figlio filho zoon",
    "@aunt": "aunt tante tía zia tia",
    "@uncle": "uncle onkel tío oncle zio tio oom",
    "@grandmother": "grandmother grandma oma grossmutter großmutter abuela grand-mère nonna",
    "@grandfather": "grandfather grandpa opa grossvater großvater abuelo grand-père nonno",
    "@boss": "boss manager chef chefin jefe jefa patron capo",
    "@colleague": "colleague coworker kollege kollegin colega collègue collega",
    "@doctor": "doctor physician arzt ärztin hausarzt médico médica médecin medico dottore",
    "@dentist": "dentist zahnarzt zahnärztin dentista dentiste",
    "@neighbour": "neighbour neighbor nachbar nachbarin vecino vecina voisin voisine",
    "@landlord": "landlord landlady vermieter vermieterin casero casera propriétaire",
    "@dog": "dog hund perro perra chien cane cão hond",
    "@cat": "cat katze kater gato gata chat gatto poes kat",
}
_HOST_WORDS = "host server machine box node vm rechner maschine servidor máquina serveur"
_ENDS = "com|org|net|io|dev|local|lan|internal|intern|example|test|home|cloud|de|fr|es|it|nl|ch|at|uk|eu"

_OWN = (
    r"(?:my|our|his|her|their|(?:the )?user['’]s|meine?|unsere?|seine?|ihre?"
    r"|mi|nuestr[oa]|su|ma|mon|notre|sa|son|mia|mio|minha|meu|mijn)"
)
_NAME = r"(?P<name>[^\W\d_][\w'’-]{1,60}(?: [^\W\d_][\w'’-]{1,60})?)"
_HOST = rf"(?:[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.(?:{_ENDS})|\d{{1,3}}(?:\.\d{{1,3}}){{3}})"


class Entity(NamedTuple):
    """A thing by one alias, which is folded; `name` is as it was written."""

    kind: Kind
    alias: str
    name: str


def entities(text: str) -> frozenset[Entity]:
    """What the text names, each by all of its aliases."""
    read = normal(text[:LONGEST])
    folded = fold(read)
    iterators: list[Iterator[Entity]] = []
    # Most texts name nothing: that is seen in a tenth of the time that the patterns take.
    if not _canonical().keys().isdisjoint(re.findall(r"\w+", folded)):
        iterators.append(_people(read))
    iterators += [read_kind(read) for read_kind, hints in _HINTS if any(hint in folded for hint in hints)]
    return frozenset(entity for entity in chain(*iterators) if len(entity.alias) > 1)


def aliases(text: str) -> frozenset[str]:
    """All aliases that a text may mean something by: its words, and groups of them that follow each other."""
    words = [
        _canonical().get(word, word) for word in re.findall(r"[\w@~./-]*\w", fold(normal(text[:LONGEST])))
    ]
    groups = (" ".join(words[at : at + size]) for size in range(1, GROUP + 1) for at in range(len(words)))
    return frozenset(list(dict.fromkeys(groups))[:MOST_ALIASES])


def shared_word(word: str) -> str:
    """What a folded word of a relation, or for a host, is called in all languages; else the word."""
    return _canonical().get(word, word)


def names_it(text: str, name: str) -> bool:
    """Whether the text has that name, in whole words, in upper or lower case."""
    return re.search(rf"(?<!\w){re.escape(fold(normal(name)))}(?!\w)", fold(normal(text))) is not None


def _people(text: str) -> Iterator[Entity]:
    for pattern in _people_patterns():
        for match in pattern.finditer(text):
            name = _capital(match["name"])
            if name:
                for alias in (_canonical()[fold(match["who"])], fold(name)):
                    yield Entity("person", alias, name)


def _hosts(text: str) -> Iterator[Entity]:
    for match in re.finditer(rf"(?<![\w./@:-]){_HOST}(?![\w/-])", text, re.IGNORECASE):
        name = match[0]
        yield Entity("host", fold(name), name)
        label = fold(name).partition(".")[0]
        if any(char.isdigit() for char in label) and not label.isdigit():
            yield Entity("host", label, name)
    role = rf"(?:the|our|my|der|die|unser|el|le|notre)\s+(?P<role>\w+)[ -]?(?P<word>{_any(_HOST_WORDS)})"
    for match in re.finditer(rf"{role}\s*(?:is|ist|es|est|:|=)\s+(?P<name>{_HOST})", text, re.IGNORECASE):
        yield Entity("host", f"{fold(match['role'])} @host", match["name"])


def _paths(text: str) -> Iterator[Entity]:
    for match in re.finditer(r"(?<![\w./:~])~?/[\w.@+-]+(?:/[\w.@+-]+)+", text):
        name = match[0].rstrip(".")
        for alias in (fold(name), fold(name.rpartition("/")[2])):
            yield Entity("path", alias, name)


def _projects(text: str) -> Iterator[Entity]:
    prefix = r"\b(?:project|projekt|proyecto|projet|progetto|repo|repository)\s+[\"'“„«]?"
    for match in re.finditer(rf"(?i:{prefix})(?P<name>[A-Z][\w-]+|[\w-]+/[\w.-]*\w|[a-z]+(?:-\w+)+)", text):
        yield Entity("project", fold(match["name"]), match["name"])


def _preferences(text: str) -> Iterator[Entity]:
    favourite = r"\bfavou?rite\s+(?P<what>\w+)\s*(?:is|are|:)\s+(?P<name>\w+)"
    for match in re.finditer(favourite, text, re.IGNORECASE):
        yield Entity("preference", fold(match["what"]), match["name"])
    prefers = r"\bprefer(?:s|red)?\s+(?P<name>\w+)\s+(?:over|to)\s+(?P<other>\w+)"
    for match in re.finditer(prefers, text, re.IGNORECASE):
        yield Entity("preference", fold(match["other"]), match["name"])


_HINTS: tuple[tuple[Callable[[str], Iterator[Entity]], tuple[str, ...]], ...] = (
    (_hosts, tuple(f".{ending}" for ending in (*_ENDS.split("|"), *"0123456789"))),
    (_paths, ("/",)),
    (_projects, ("proje", "proye", "proge", "repo ", "reposit")),
    (_preferences, ("prefer", "favo")),
)
"""What reads entities of a kind, and folded words without one of which there are none."""


def _capital(name: str) -> str:
    """The leading words of a name that begin with a capital."""
    words = []
    for word in name.split():
        if not word[:1].isupper():
            break
        words.append(re.sub(r"['’]s?$", "", word))
    return " ".join(words)


@cache
def _people_patterns() -> tuple[re.Pattern[str], ...]:
    who = f"(?P<who>{_any(' '.join(_WORDS.values()))})"
    called = (
        r"(?:['’]s name is|,? (?:is )?(?:called|named)|,| hei(?:ß|ss)t| se llama| s['’]appelle"
        r"| si chiama| heet| chama-se|:)?"
    )
    return (
        re.compile(rf"\b(?i:{_OWN} (?:\w+ )?{who}{called}) {_NAME}"),
        re.compile(rf"^(?i:{who}: ){_NAME}", re.MULTILINE),
        re.compile(rf"\b{_NAME}(?i:,| is| ist| es| est) (?i:{_OWN} (?:\w+ )?{who})\b"),
    )


@cache
def _canonical() -> Mapping[str, str]:
    """What a folded word of a relation, or for a host, is called in aliases."""
    relations = {fold(normal(word)): alias for alias, words in _WORDS.items() for word in words.split()}
    return {**relations, **{fold(normal(word)): "@host" for word in _HOST_WORDS.split()}}


def _any(words: str) -> str:
    return "|".join(sorted(map(re.escape, words.split()), key=len, reverse=True))
