"""Options of an endpoint's client, common to all APIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hermes_jobs.llm.dialect import ApiOptions
from hermes_jobs.llm.refusals import Refusals
from hermes_jobs.llm.windows import Windows

ANTHROPIC_URL = "https://api.anthropic.com"


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of one endpoint.

    `windows` and `refusals` learn from refusals. `idle_timeout`: seconds without data after which a call
    fails; `timeout`: seconds for a whole call, None for no limit. `watch` is called with the HTTP client.
    `content` gives the bytes of an attachment by their digest.
    """

    api_key: str
    base_url: str
    windows: Windows
    refusals: Refusals
    idle_timeout: float
    timeout: float | None
    manner: ApiOptions
    watch: Callable[[Any], None] | None
    content: Callable[[str], bytes | None] = lambda digest: None
