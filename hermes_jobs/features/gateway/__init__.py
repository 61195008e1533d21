"""Chat gateways: users' messages on a platform become turns; one module per platform."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    events="events:GatewayEvent",
    streams="streams:STREAMS",
    commands={"run gateway": Command("cli:gateway", "Run the Telegram gateway.")},
)
