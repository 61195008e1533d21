"""Pictures and documents beside a message: taken in once, stored by digest, sent as each model takes them."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Feature

FEATURE = Feature(
    __name__, tools="tools:attachment_tools", asking="tools:asking", tables="tables:projections"
)
