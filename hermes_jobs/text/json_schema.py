"""JSON Schemas as text: whether one can be used, and what is wrong with a document.

References lead to places within the schema and to the published metaschemas only: nothing is fetched. Formats
are checked as far as the library knows them by itself (`date`, `email`, `ipv4`, `uuid` and some more).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from hermes_jobs.text.clip import clip

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator
    from referencing import Registry

MOST_FAULTS = 5
LONGEST_FAULT = 200  # characters
LARGEST_SCHEMA = 100_000  # characters; it goes along with each request
ENDLESS = "it refers to itself without an end"

_FENCE = re.compile(r"```[^\n`]*")


def schema_fault(schema: str) -> str:
    """Why the text is not JSON Schema that can be used, as half a sentence; empty where it can be."""
    from jsonschema.exceptions import best_match

    if len(schema) > LARGEST_SCHEMA:
        return f"it has {len(schema):,} characters, and {LARGEST_SCHEMA:,} are allowed"
    try:
        content = _decoded(schema)
    except ValueError as error:
        return f"it is not JSON: {error}"
    if not isinstance(content, dict):
        return "it is not a JSON object"
    try:
        validator = _validator(schema)
        kind = type(validator)
        check = kind(kind.META_SCHEMA, registry=_registry(), format_checker=kind.FORMAT_CHECKER)
        fault = best_match(check.iter_errors(content))
        if fault is not None:
            return _message(fault)
        nowhere = next(_dangling(validator, content), None)
        if nowhere is not None:
            return f"its reference {nowhere!r} leads nowhere (only references within the schema are followed)"
        probes: tuple[object, ...] = (None, {}, [], "", 0)
        for probe in probes:
            validator.is_valid(probe)
    except RecursionError:
        return ENDLESS
    return ""


def has_patterns(schema: str) -> bool:
    """Whether the schema has regular expressions: one that a model wrote could keep a worker for ever."""
    open_parts = [_decoded(schema)]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, list):
            open_parts += part
        elif isinstance(part, dict):
            if isinstance(part.get("pattern"), str) or isinstance(part.get("patternProperties"), dict):
                return True
            open_parts += part.values()
    return False


def document_in(text: str) -> str:
    """The JSON document that an answer consists of: the whole of it, or its only block between ``` fences.

    Raises `ValueError`, which says why there is none.
    """
    stripped = text.strip().removeprefix("\ufeff")
    blocks = list(_fenced(stripped))
    candidates = [stripped, *blocks] if len(blocks) == 1 else [stripped]
    why = ""
    for document in candidates:
        try:
            _decoded(document)
        except ValueError as error:
            why = str(error)
        else:
            return document.strip()
    raise ValueError(f"it is not JSON: {why}")


def _fenced(text: str) -> Iterator[str]:
    """The contents of its blocks between lines of ```; the last backticks may stand at the end of a line."""
    inside: list[str] | None = None
    for line in text.split("\n"):
        if inside is None:
            inside = [] if _FENCE.fullmatch(line) else None
        elif line.rstrip().endswith("```"):
            yield "\n".join((*inside, line.rstrip().removesuffix("```"))).removesuffix("\n")
            inside = None
        else:
            inside.append(line)


def faults(schema: str, document: str) -> tuple[str, ...]:
    """What is wrong with a JSON document, `MOST_FAULTS` at most; none where it fits the schema."""
    from referencing.exceptions import Unresolvable

    try:
        errors = _validator(schema).iter_errors(_decoded(document))
        return tuple(_message(error) for error in islice(errors, MOST_FAULTS))
    except RecursionError:
        return (f"the schema cannot be used: {ENDLESS}",)
    except (ValueError, Unresolvable) as error:
        return (f"the schema cannot be used: {error}"[:LONGEST_FAULT],)


def compact(document: str) -> str:
    """The document on one line, without spaces between its parts. Raises `ValueError` where it is none."""
    import json

    value = _decoded(document)
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    is_text = written.encode(errors="replace").decode() == written  # no halves of surrogate pairs
    return written if is_text else json.dumps(value, separators=(",", ":"))


def _decoded(text: str) -> Any:
    """The value of a JSON text. Raises `ValueError`."""
    import json  # here alone: every command imports this module

    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _finite(written: str) -> float:
    number = float(written)
    return number if math.isfinite(number) else _no_constant(written)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


@lru_cache(maxsize=32)
def _validator(schema: str) -> Validator:
    """The validator of the draft that the schema names, else of draft 2020-12. Raises `ValueError`."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    content = _decoded(schema)
    kind = validator_for(content, default=Draft202012Validator)
    return kind(content, registry=_registry(), format_checker=kind.FORMAT_CHECKER)


def _registry() -> Registry[Any]:
    """The published metaschemas. With it the library fetches nothing."""
    from jsonschema_specifications import REGISTRY

    return REGISTRY


def _dangling(validator: Validator, content: dict[str, Any]) -> Iterator[str]:
    """The references of the schema that lead nowhere."""
    from referencing import Resource
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012, specification_with

    dialect = specification_with(str(validator.META_SCHEMA.get("$schema")), default=DRAFT202012)
    resource = Resource.from_contents(content, default_specification=dialect)
    registry = _registry().with_resource(resource.id() or "", resource).crawl()
    open_parts = [(registry.resolver(resource.id() or ""), resource)]
    while open_parts:
        resolver, part = open_parts.pop()
        reference = part.contents.get("$ref") if isinstance(part.contents, dict) else None
        if isinstance(reference, str):
            try:
                resolver.lookup(reference)
            except Unresolvable:
                yield reference
        open_parts += [
            (resolver.in_subresource(subresource), subresource) for subresource in part.subresources()
        ]


def _message(error: ValidationError) -> str:
    """What is wrong, and where (a JSON path), in one line."""
    from jsonschema.exceptions import best_match

    deepest = best_match([error]) or error
    return clip(f"{deepest.json_path}: {' '.join(deepest.message.split())}", LONGEST_FAULT)
