"""The delivery channels, each made for its first delivery."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from hermes_jobs.engine.ports import Clock
from hermes_jobs.settings import Settings

if TYPE_CHECKING:
    from hermes_jobs.delivery.send import DeliveryChannel
    from hermes_jobs.domain.delivery import TargetKind


class DeliveryChannels:
    """One channel for each kind of target. Safe for many threads."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], clock: Clock) -> None:
        self._settings = settings
        self._environ = environ
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[TargetKind, DeliveryChannel] = {}

    def __call__(self, kind: TargetKind) -> DeliveryChannel:
        """The channel of that kind. Raises `DeliveryError` where this process has none."""
        with self._lock:
            if kind not in self._made:
                self._made[kind] = self._new(kind)
            return self._made[kind]

    def _new(self, kind: TargetKind) -> DeliveryChannel:
        from hermes_jobs.delivery.send import DeliveryError

        match kind:
            case "cli":
                raise DeliveryError("What goes to the inbox waits there for its reader.", lasting=True)
            case "file":
                from hermes_jobs.delivery.file import FileChannel

                return FileChannel(home=self._settings.paths.home, environ=self._environ, clock=self._clock)
            case "webhook":
                from hermes_jobs.delivery.webhook import SECRET, WebhookChannel

                return WebhookChannel(self._settings.secrets.get(SECRET), clock=self._clock)
            case "telegram":
                return self._telegram()
            case _:
                assert_never(kind)

    def _telegram(self) -> DeliveryChannel:
        from hermes_jobs.delivery.send import DeliveryError

        try:
            from hermes_jobs.delivery.telegram import TelegramChannel
            from hermes_jobs.delivery.telegram_token import TOKEN
        except ModuleNotFoundError as error:
            raise DeliveryError(
                "The worker cannot speak to Telegram: pip install 'hermes-jobs[telegram]'."
            ) from error
        return TelegramChannel(self._settings.secrets.get(TOKEN), self._settings.gateway.telegram.base_url)
