"""Questions of a turn as elicitations of the SDK, and a reply as the result of a call."""

from __future__ import annotations

from mcp.types import (
    CallToolResult,
    ClientCapabilities,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    TextContent,
)

from hermes_jobs.features.mcp.serve import forms
from hermes_jobs.features.mcp.serve.requests import SendReply
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion


def modes(capabilities: ClientCapabilities | None) -> frozenset[forms.Mode]:
    """The elicitation modes of a client. One that names none supports forms."""
    elicitation_capability = capabilities.elicitation if capabilities is not None else None
    if elicitation_capability is None:
        return frozenset()
    can: dict[forms.Mode, bool] = {
        "form": elicitation_capability.form is not None or elicitation_capability.url is None,
        "url": elicitation_capability.url is not None,
    }
    return frozenset(mode for mode, is_supported in can.items() if is_supported)


def elicitation(question: AnyQuestion, text: str) -> ElicitRequest:
    """The question with that text, for a result."""
    if address := forms.address(question):
        return ElicitRequest(params=ElicitRequestURLParams(message=text, url=address))
    return ElicitRequest(params=ElicitRequestFormParams(message=text, requested_schema=forms.form(question)))


def result_of(reply: SendReply) -> CallToolResult:
    """The reply as the result of a call."""
    return CallToolResult(content=[TextContent(text=reply.text)], structured_content=reply.value)
