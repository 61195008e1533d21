"""Reviews, for interfaces: what each looked at, why, and what it saved. Every function raises
`LogUnavailable`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes_jobs.features.reviews.saved_names import saved_names
from hermes_jobs.features.reviews.tables import ReviewView, select_review, select_reviews

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application

__all__ = ["ReviewView", "review", "reviews", "saved"]


def reviews(application: Application, limit: int) -> tuple[ReviewView, ...]:
    """Reviews, newest first."""
    return application.views.read(select_reviews, limit=limit)


def review(application: Application, name: str) -> ReviewView:
    """One review. Raises `Rejected`: `ambiguous`, `unknown_review`."""
    return application.views.read(select_review, name)


def saved(application: Application, found: tuple[ReviewView, ...]) -> Mapping[str, str]:
    """What those of them that saved something have saved, by name."""
    return saved_names(application.log, {each.id for each in found if each.saved})
