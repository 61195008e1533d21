"""`python -m tests.eventlog.golden`: what new fields and types of events need in `tests/golden`.

It only adds: the form that an event had before a field, its new form, and the defaults and texts of new
fields.
What would change a stored form or a default is named, and left as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_jobs.kernel.events import Event
from hermes_jobs.kernel.log.codec import Codec
from tests.domain import test_forgetting
from tests.domain.test_forgetting import texts
from tests.eventlog import test_defaults
from tests.eventlog.stored import EXAMPLES
from tests.eventlog.test_defaults import current
from tests.eventlog.test_golden_events import path_of, says

Json = dict[str, Any]


def added_fields(now: object, before: object) -> Iterator[str]:
    """The fields that a stored value has gained, also those of structs in it."""
    if isinstance(now, dict) and isinstance(before, dict):
        for name, value in now.items():
            if name not in before:
                yield name
            else:
                yield from added_fields(value, before[name])


def write_form(event: Event, path: Path) -> str | None:
    """Write the stored form of an example, and keep the one before it; what was done, None for nothing.

    Raises:
        ValueError: the example says something else than its file, and not only more.

    """
    form = Codec().encode(event).data
    if not path.exists():
        path.write_text(form, encoding="utf-8")
        return f"{path.name}: the form of a new type"
    stored = path.read_text(encoding="utf-8")
    if stored == form:
        return None
    now, before = json.loads(form), json.loads(stored)
    added = list(added_fields(now, before))
    if not added or not says(now, before):
        raise ValueError(
            f"{path.name}: the example says something else, not only more. Let it say what the file says; "
            "another form of the type needs an entry in UPCASTS. A file that nobody has yet can be deleted."
        )
    kept = path.with_name(f"{path.stem}.before-{added[0]}.json")
    path.rename(kept)
    path.write_text(form, encoding="utf-8")
    return f"{path.name}: with {', '.join(added)}; {kept.name}: without"


def write_new(path: Path, now: Json) -> list[str]:
    """Add to a file what it lacks; the lines that say so.

    Raises:
        ValueError: something that the file has is another now, or gone.

    """
    before: Json = json.loads(path.read_text(encoding="utf-8"))
    gone = [name for name, value in before.items() if not _holds(now.get(name), value)]
    if gone:
        raise ValueError(f"{path.name}: {', '.join(gone)} said something else: nothing in it is changed")
    path.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return [
        f"{path.name}: {name}: {new}"
        for name, value in sorted(now.items())
        if (new := sorted(set(value) - set(before.get(name, ()))))
    ]


def _holds(now: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return isinstance(now, dict) and before.items() <= now.items()
    return set(before) <= set(now or ())


def main() -> int:
    """Write what is new, and say it; 1 where something is not new but other."""
    failed = False
    for event in EXAMPLES:
        try:
            done = write_form(event, path_of(event))
        except ValueError as error:
            failed, done = True, str(error)
        if done:
            sys.stdout.write(f"{done}\n")
    for path, now in ((test_defaults.FILE, dict(current())), (test_forgetting.FILE, texts())):
        try:
            lines = write_new(path, now)
        except ValueError as error:
            failed, lines = True, [str(error)]
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
