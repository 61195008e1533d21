"""This machine's time zone."""

from __future__ import annotations

import warnings


def local_zone_name() -> str:
    """Its IANA name; UTC where it has none."""
    from tzlocal import get_localzone_name

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a zone that is not configured, or in two ways
        return get_localzone_name() or "UTC"
