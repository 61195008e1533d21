"""A JSON Schema with regular expressions, applied in a process of its own: this module is what runs there."""

from __future__ import annotations

import json
import sys

from hermes_jobs.system.bounded_process import run_within
from hermes_jobs.system.isolation import python_module
from hermes_jobs.text.json_schema import faults, has_patterns


def faults_within(schema: str, document: str, seconds: float) -> tuple[str, ...] | None:
    """What is wrong with the document, as `faults` says; None where patterns take longer than `seconds`."""
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
