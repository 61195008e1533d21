"""What processes that work say of themselves, and whether live ones can do what a turn needs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hermes_jobs.agent.tools.web_search.catalogue import SEARCH_KEYS
from hermes_jobs.eventlog.log import WorkerRow
from hermes_jobs.settings.person_locale import PersonLocale
from hermes_jobs.settings.turn_settings import SEARCH_URL

if TYPE_CHECKING:
    from hermes_jobs.eventlog.log import EventLog

OF_SEARCHES = frozenset({SEARCH_URL, *SEARCH_KEYS})
NEEDED = frozenset({"turns", "tools"})
"""The queues of a turn's steps."""


class WorkerStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a process that works says of itself to the others. No secret is in it.

    `has`: digests of keys and addresses by name. `problem`: why it uses older settings than the files hold;
    `outdated`: keys whose change needs a restart. `locale`: what the agent's commands have by default.
    `unreachable`: why a gateway's platform cannot be asked.
    """

    has: Mapping[str, str] = {}
    problem: str = ""
    outdated: tuple[str, ...] = ()
    locale: PersonLocale = PersonLocale()
    unreachable: str = ""

    def meets(self, requires: Mapping[str, str]) -> bool:
        """Whether it has all that a turn requires."""
        return meets(requires, self.has)


def meets(requires: Mapping[str, str], has: Mapping[str, str]) -> bool:
    """Whether all that is required is there."""
    return all(has.get(name) == digest for name, digest in requires.items())


def statuses(log: EventLog) -> Mapping[str, WorkerStatus]:
    """What the registered processes say of themselves, by id. Raises `LogUnavailable`."""
    found = {}
    for worker, text in log.statuses().items():
        try:
            found[worker] = msgspec.json.decode(text, type=WorkerStatus)
        except msgspec.DecodeError:  # of another build
            continue
    return found


def of_tools(requires: Mapping[str, str]) -> Mapping[str, str]:
    """What a turn requires of whoever runs its tools: a model's keys and addresses are not."""
    return {
        name: digest
        for name, digest in requires.items()
        if name in OF_SEARCHES or not (name.isupper() or name.endswith("base_url"))
    }


def cover_required_queues(
    log: EventLog, workers: Sequence[WorkerRow], dead: Collection[str], requires: Mapping[str, str]
) -> bool:
    """Whether the workers that are not `dead` consume the queues that a turn needs, and have what it
    requires. Raises `LogUnavailable`."""
    live = [worker for worker in workers if worker.id not in dead]
    lanes = {lane for worker in live for lane in worker.lanes}
    if not requires or not lanes >= NEEDED:
        return lanes >= NEEDED
    known = statuses(log)
    wanted = {"turns": requires, "tools": of_tools(requires)}
    return all(
        any(lane in worker.lanes and worker.id in known and known[worker.id].meets(need) for worker in live)
        for lane, need in wanted.items()
    )
