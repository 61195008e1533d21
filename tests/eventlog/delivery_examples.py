"""An example of each fact of deliveries and gateways, every field set."""

from __future__ import annotations

from hermes_jobs.domain import events as e

EXAMPLES: tuple[e.Event, ...] = (
    e.DeliveryRequested(
        delivery="dt1x0x0",
        target="file:~/answers.md",
        text="Grüße, \x00 and 😀",
        turn="t1",
        session="s1",
        source="schedule:h1",
        ok=False,
        workdir="/srv/work",
        lineage="s0",
    ),
    e.DeliveryPlaced(delivery="dt1x0x0", part=1, receipt="17"),
    e.DeliverySent(delivery="dt1x0x0", attempt=2, receipt="17"),
    e.DeliveryFailed(delivery="dt1x0x0", attempt=2, message="It answered 503.", retry_at=1_800_000_000.5),
    e.DeliveryMoved(delivery="dt1x0x0", target="telegram:-1004", message="It has become a supergroup."),
    e.ConversationOpened(person="anna", session="s1", source="telegram"),
    e.GatewayTaken(gateway="telegram:4242", worker="gateway-1"),
)
