"""What other parts of the site use of this one: who a key belongs to, and which are used up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_jobs.features.api import keys
from hermes_jobs.features.api.events import SOURCE, Scope
from hermes_jobs.kernel.streams.budgets import WARNING_SHARE

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.api.events import ApiKeyAdded
    from hermes_jobs.features.serve.api import Caller, Part, Site


def identify_by_key(site: Site, connection: HTTPConnection, scope: Scope) -> Caller | None:
    """The program whose key with that scope the request carries, as `api:NAME`, without a CSRF token.

    None where it carries none, an unknown or revoked one, or one without the scope. Reads the log.
    """
    from hermes_jobs.features.serve.api import Caller

    key = key_of(site, connection)
    return Caller(f"{SOURCE}{key.key}") if key is not None and scope in key.scopes else None


def key_of(site: Site, connection: HTTPConnection) -> ApiKeyAdded | None:
    """The key in force that the request carries: `Authorization: Bearer hj-…`."""
    return keys.of_header(site.application, connection.headers)


def used_up(application: Application) -> Sequence[tuple[str, float, float]]:
    """The keys that have nearly spent their budget of this month: name, spent, and budget in US dollars."""
    return [
        (key.key, key.spent_usd, key.budget_usd)
        for key in keys.keys(application)
        if key.budget_usd is not None and key.spent_usd >= WARNING_SHARE * key.budget_usd
    ]


def part() -> Part:
    """The part of the site for programs."""
    from hermes_jobs.features.api.part import PART

    return PART
