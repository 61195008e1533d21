"""What other features use to add a part to the site."""

from __future__ import annotations

from hermes_jobs.features.serve.feed import PING_SECONDS, SEND_SECONDS, Feed
from hermes_jobs.features.serve.sign_in import Caller
from hermes_jobs.features.serve.site import Part, Site

__all__ = ["PING_SECONDS", "SEND_SECONDS", "Caller", "Feed", "Part", "Site"]
