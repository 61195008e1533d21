"""Events about models that all sessions share.

Stream `windows`: context windows that servers named, asked or in a refusal, and features that they refuse.
Stream `pauses`: auxiliary models that failed and are skipped for a while.
"""

from __future__ import annotations

from typing import Literal

from hermes_jobs.kernel.events.event import Event

WindowSource = Literal["refusal", "server"]


class WindowLearned(Event, frozen=True, kw_only=True):
    """A refusal reported a window, in tokens, that is smaller than `assumed`; or the `server` said which one
    it serves. `endpoint` is a URL without credentials; `at` is in seconds since the epoch.
    """

    endpoint: str
    model: str
    window: int
    assumed: int
    at: float = 0.0
    source: WindowSource = "refusal"


class FeatureRefused(Event, frozen=True, kw_only=True):
    """The endpoint refused a feature of requests for the model (a parameter, tools, streaming), and answered
    without it. `message` is the refusal; `at` is in seconds since the epoch.
    """

    endpoint: str
    model: str
    feature: str
    message: str
    at: float


class WindowForgotten(Event, frozen=True, kw_only=True):
    """A user reset what was learned of the model: its window, and its refused features."""

    endpoint: str
    model: str


WindowEvent = WindowLearned | FeatureRefused | WindowForgotten


class HelperPaused(Event, frozen=True, kw_only=True):
    """The auxiliary model for `purpose` (flush, compression, review) failed; the main model is used in its
    place until `until` (seconds since the epoch). `endpoint` is a URL without credentials.
    """

    purpose: str
    model: str
    endpoint: str
    kind: str
    message: str
    until: float


PauseEvent = HelperPaused
