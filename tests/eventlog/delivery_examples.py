"""An example of each fact of deliveries and gateways, every field set."""

from __future__ import annotations

from hermes_jobs.features.deliveries.events import (
    DeliveryFailed,
    DeliveryMoved,
    DeliveryPlaced,
    DeliveryQuestion,
    DeliveryRequested,
    DeliveryRevised,
    DeliverySent,
)
from hermes_jobs.features.gateway import events as gateway_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.turns.attachments import Attachment

FILE = Attachment(
    digest="ef" * 32, media_type="text/plain", size=2_048, file_name="report.csv", text="ef" * 32
)
EXAMPLES: tuple[e.Event, ...] = (
    DeliveryRequested(
        delivery="dt1x0x0",
        target="file:~/answers.md",
        text="Grüße, \x00 and 😀",
        turn="t1",
        session="s1",
        source="schedule:h1",
        ok=False,
        workdir="/srv/work",
        lineage="s0",
        question=DeliveryQuestion(
            stream="session-s1",
            turn="t1",
            call="t1-1-0",
            choices=("once", "no"),
            prompt="Allow it?",
            expires_at=1_800_000_000.5,
            users=("telegram:12",),
            key="question",
            labels=("Once", "No"),
            takes_text=True,
        ),
        attachments=(FILE,),
    ),
    DeliveryPlaced(delivery="dt1x0x0", part=1, receipt="17"),
    DeliverySent(delivery="dt1x0x0", attempt=2, receipt="17", revised=True),
    DeliveryRevised(delivery="dt1x0x0", text="Allowed."),
    DeliveryFailed(delivery="dt1x0x0", attempt=2, message="It answered 503.", retry_at=1_800_000_000.5),
    DeliveryMoved(delivery="dt1x0x0", target="telegram:-1004", message="It has become a supergroup."),
    gateway_events.ConversationOpened(person="anna", session="s1", source="telegram"),
    gateway_events.GatewayTaken(gateway="telegram:4242", worker="gateway-1"),
)
