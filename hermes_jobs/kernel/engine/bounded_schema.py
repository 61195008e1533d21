"""Validates an answer against a JSON Schema with regular expressions. Runs in a child process."""

from __future__ import annotations

import json
import sys

from hermes_jobs.system.bounded_process import run_within
from hermes_jobs.system.isolation import python_module
from hermes_jobs.text.json_schema import document_in, faults, has_patterns

PATTERN_SECONDS = 5.0


def answer_faults(schema: str, answer: str, seconds: float = PATTERN_SECONDS) -> tuple[str, ...]:
    """The violations of the schema by an answer, found within the time limit; empty if it is valid."""
    try:
        faults = _faults_within(schema, document_in(answer), seconds)
    except ValueError as error:
        return (str(error),)
    return (f"the schema's patterns take more than {seconds:g} seconds",) if faults is None else faults


def _faults_within(schema: str, document: str, seconds: float) -> tuple[str, ...] | None:
    if not has_patterns(schema):
        return faults(schema, document)
    ended = run_within(python_module(__spec__.name), json.dumps([schema, document]), seconds)
    if ended is None:
        return None
    if ended.returncode:
        return (f"the schema cannot be applied: its process ended with {ended.returncode}",)
    return tuple(json.loads(ended.stdout))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(faults(*json.load(sys.stdin))))
