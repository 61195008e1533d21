"""What the tests of couriers share: deliveries as they were asked for, and a clock that stands."""

from __future__ import annotations

from hermes_jobs.features.deliveries.events import DeliveryRequested, stream_of
from hermes_jobs.features.deliveries.rules import Delivery, evolve

NOON = 1_795_262_400.0  # 2026-11-21T12:00:00Z


def asked_for(target: str, text: str = "Good morning.", *, name: str = "dt1x0x0", **more: object) -> Delivery:
    fields = {"turn": "t1", "session": "s1", "source": "schedule:h1", **more}
    requested = DeliveryRequested(delivery=name, target=target, text=text, **fields)  # type: ignore[arg-type]
    return evolve(Delivery(stream=stream_of(name)), requested)
