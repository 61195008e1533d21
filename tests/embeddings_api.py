"""OpenAI's embeddings as a scripted server gives them: its documented rules, and toy vectors.

https://platform.openai.com/docs/api-reference/embeddings: `input` is a text or an array of at most 2,048,
none of them empty; `dimensions` belongs to text-embedding-3 and later; `encoding_format` is `float` or
`base64`.
A toy vector adds up the words, each as what the table of synonyms calls it and as its hashed groups of three
letters; words that mean little are left out.
"""

from __future__ import annotations

import re
from array import array
from base64 import b64encode
from hashlib import sha256
from math import sqrt
from typing import Any

MOST_INPUTS = 2_048
DIMENSIONS = 256
SYNONYMS = {
    "vehicle": "car", "automobile": "car", "auto": "car", "wagen": "car", "drive": "car",
    "physician": "doctor", "arzt": "doctor",
    "lawyer": "attorney", "solicitor": "attorney",
    "purchase": "buy", "bought": "buy",
    "spouse": "wife",
}  # fmt: skip


class BadInput(Exception):
    """The request breaks a rule; the message is the API's."""


LITTLE = re.compile(
    "about|and|are|does|for|from|got|had|has|have|her|his|mine|our|own|said|she|that|the|them|they|this|"
    "was|were|what|when|where|which|who|with|you|your"
)


def embedded(body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request. Raises `BadInput`."""
    texts = _inputs(body.get("input"))
    model, length = body.get("model"), body.get("dimensions", DIMENSIONS)
    if not isinstance(model, str) or not model:
        raise BadInput("you must provide a model parameter")
    if "dimensions" in body and not model.startswith("text-embedding-3"):
        raise BadInput("This model does not support specifying dimensions.")
    if not isinstance(length, int) or not 1 <= length <= DIMENSIONS:
        raise BadInput(f"Invalid value for 'dimensions' = {length}. Must be between 1 and {DIMENSIONS}.")
    encoding = body.get("encoding_format", "float")
    if encoding not in {"float", "base64"}:
        raise BadInput("encoding_format must be 'float' or 'base64'")
    data = [
        {"object": "embedding", "index": at, "embedding": _encoded(toy_vector(text, length), encoding)}
        for at, text in enumerate(texts)
    ]
    tokens = sum(len(text) // 4 + 1 for text in texts)
    return {
        "object": "list",
        "data": data[::-1],  # the order is that of `index` alone
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _inputs(given: Any) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise BadInput("'$.input' is invalid.")
    if len(texts) > MOST_INPUTS:
        raise BadInput(f"'$.input' is invalid: array must be {MOST_INPUTS} or less.")
    if not all(texts):
        raise BadInput("'$.input' is invalid: input cannot be an empty string.")
    return texts


def _encoded(vector: list[float], encoding: str) -> list[float] | str:
    return vector if encoding == "float" else b64encode(array("f", vector).tobytes()).decode()


def toy_vector(text: str, length: int = DIMENSIONS) -> list[float]:
    """The same for the same words, near for those of one meaning."""
    vector = [0.0] * length
    for word in re.findall(r"\w+", text.lower()):
        known = SYNONYMS.get(word, word)
        if len(known) < 3 or LITTLE.fullmatch(known):
            continue
        groups = [known[at : at + 3] for at in range(len(known) - 2)]
        for group, weight in ((f"={known}", 1.0), *((each, 0.5 / len(groups)) for each in groups)):
            digest = sha256(group.encode()).digest()
            place = int.from_bytes(digest[:4], "big") % length
            vector[place] += weight if digest[4] % 2 else -weight
    size = sqrt(sum(each * each for each in vector)) or 1.0
    return [each / size for each in vector] if any(vector) else [1.0, *vector[1:]]
