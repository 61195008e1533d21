"""One example of each event about what a call of a server waits for, every field set."""

from __future__ import annotations

from hermes_jobs.kernel import events as e

FORM = e.InputRequest(
    key="seat",
    message="Which «seat»?",
    fields=(
        e.InputField(
            name="row",
            kind="choices",
            title="Row",
            description="Where to sit.",
            required=True,
            default='["a"]',
            choices=(e.InputChoice(value="a", title="First"), e.InputChoice(value="b")),
            least=1.0,
            most=2.0,
            format="date",
            open=True,
        ),
    ),
    refusal="its form cannot be shown",
)
EXAMPLES: tuple[e.Event, ...] = (
    e.InputRequested(
        turn="t1",
        call="t1-1-0",
        server="notes",
        requests=(FORM, e.InputRequest(key="pay", message="Pay.", url="https://example.com/pay?id=1")),
        expires_at=1795440458.25,
        state="opaque",
        live=True,
    ),
    e.InputAnswered(
        turn="t1", call="t1-1-0", key="seat", action="accept", by="user", content='{"row":["a"]}'
    ),
    e.ServerTaskBegun(
        turn="t1",
        call="t1-1-0",
        server="notes",
        task="task-7",
        at=1795440458.25,
        poll_at=1795440460.25,
        message="Reading «notes».",
    ),
    e.ServerTaskPolled(
        turn="t1",
        call="t1-1-0",
        at=1795440460.5,
        poll_at=1795440470.5,
        message="Half of them.",
        reached=False,
    ),
)
