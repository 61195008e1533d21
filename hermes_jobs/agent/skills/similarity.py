"""Which skills say nearly the same: the cosine of their words, rare ones counting for more."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from math import log, sqrt

ALIKE = 0.5
"""From this cosine on two skills are worth comparing: copies have 1, skills of one trade 0.1 to 0.3."""

_WORD = re.compile(r"[^\W_][\w-]*[^\W_]|[^\W\d_]")


def similar_pairs(texts: Mapping[str, str]) -> tuple[tuple[str, str, float], ...]:
    """The pairs whose texts are alike, with their cosine from 0 to 1, the most alike first."""
    counts = {name: Counter(_WORD.findall(text.lower())) for name, text in texts.items()}
    occurs = Counter(word for words in counts.values() for word in words)
    vectors = {
        name: {word: count * log(1 + len(texts) / occurs[word]) for word, count in words.items()}
        for name, words in counts.items()
    }
    lengths = {name: sqrt(sum(each * each for each in vector.values())) for name, vector in vectors.items()}
    found = []
    for one, other in combinations(sorted(texts), 2):
        if not (lengths[one] and lengths[other]):
            continue
        shared = vectors[one].keys() & vectors[other].keys()
        product = sum(vectors[one][word] * vectors[other][word] for word in shared)
        cosine = product / (lengths[one] * lengths[other])
        if cosine >= ALIKE:
            found.append((one, other, min(cosine, 1.0)))
    return tuple(sorted(found, key=lambda pair: (-pair[2], pair)))
