"""Reads resources and prompts of servers for a user.

A server's questions during a read are answered at once by that user. Nothing is recorded: without an answer
the read fails.

The input is untrusted: shown texts are cleaned, and anything may be missing or invalid.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.catalogue import clean
from hermes_jobs.features.mcp.elicitation import Unanswerable, requests_of
from hermes_jobs.features.mcp.input_questions import CANCELLED
from hermes_jobs.features.mcp.launches import Launches
from hermes_jobs.features.mcp.messages import (
    AskNow,
    Failed,
    InputRequired,
    Inquire,
    Inquiry,
    Launch,
    Result,
    decode_response,
)
from hermes_jobs.features.mcp.prompts import MAX_LINE, line, text_of
from hermes_jobs.features.mcp.resources import KnownResources, McpResource
from hermes_jobs.features.mcp.servers import CANNOT_ASK, Servers
from hermes_jobs.features.mcp.sessions import NeverCancelled
from hermes_jobs.kernel.events import InputAnswered, InputRequest, InputRequested
from hermes_jobs.kernel.turns.call import OpenInput
from hermes_jobs.kernel.turns.inputs import MAX_ROUNDS, as_mcp
from hermes_jobs.system.clock import Clock


class McpContent(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a resource, with its own address."""

    uri: str
    mime_type: str
    data: bytes


class McpReader(msgspec.Struct, frozen=True, eq=False):
    """Reads from the servers of one configuration. Thread-safe. `questions` answers the servers'
    questions."""

    launches: Launches
    servers: Servers
    questions: ReaderQuestions
    listed: KnownResources

    def asking(self, person: Person | None) -> McpReader:
        """The same with a user who answers the servers' questions; None: without a user."""
        return McpReader(self.launches, self.servers, self.questions.by(person), self.listed)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the enabled servers, sorted."""
        return tuple(sorted(self.launches.config))

    def resources(self, server: str, workdir: str) -> tuple[McpResource, ...]:
        """The server's resources, then its templates, each by address; stored for `cached_resources`. Raises
        `Rejected`."""
        answer = self._ask(server, workdir, "resources", {}, "resources")
        entries = [
            *(_resource(server, entry, "uri") for entry in _dicts(answer.get("resources"))),
            *(_resource(server, entry, "uriTemplate") for entry in _dicts(answer.get("templates"))),
        ]
        listed = sorted(
            (entry for entry in entries if entry.uri), key=lambda item: (item.is_template, item.uri)
        )
        self.listed.save_listing(server, listed)
        return tuple(listed)

    def cached_resources(self, server: str) -> tuple[McpResource, ...]:
        """The server's last known resources, without a request."""
        return self.listed.of(server)

    def is_running(self, server: str, workdir: str) -> bool:
        """Whether the server is running."""
        try:
            return self.servers.is_running(self.launches.launch(server, workdir))
        except (Rejected, KeyError):
            return False

    def read(self, server: str, uri: str, workdir: str) -> tuple[McpContent, ...]:
        """The parts of a resource. Raises `Rejected`."""
        result = self._ask(server, workdir, "read", {"uri": uri}, uri)
        parts = tuple(_content(entry) for entry in _dicts(result.get("contents")))
        if not parts:
            raise Rejected(f"{server} has nothing at {uri}.", kind="mcp")
        return parts

    def prompt(self, server: str, name: str, arguments: Mapping[str, str], workdir: str) -> str:
        """The text of a prompt with those arguments. Raises `Rejected`."""
        request = {"name": name, "arguments": arguments}
        return text_of(self._ask(server, workdir, "prompt", request, f"prompt {name}"))

    def _ask(
        self, server: str, workdir: str, what: Inquiry, arguments: Mapping[str, Any], subject: str
    ) -> dict[str, Any]:
        config = self.launches.config.get(server)
        if config is None:
            names = ", ".join(self.names) or "none"
            raise Rejected(
                f"There is no MCP server {server!r} that is on. There are: {names}.", kind="unknown"
            )
        try:
            launch = self.launches.launch(server, workdir)
        except Rejected as rejection:
            raise Rejected(
                f"{server}: {rejection.message}.", kind=rejection.kind, hint=rejection.hint
            ) from rejection
        inquire = Inquire(what=what, arguments=msgspec.json.encode(arguments), timeout=config.timeout)
        reply = self._reply(launch, inquire, subject)
        if isinstance(reply, Failed):
            explained_kinds = {"login", "scope", "refused", "asks"}
            hint = "" if reply.kind in explained_kinds else f"hermes-jobs mcp test {server}"
            raise Rejected(f"{server}: {clean(reply.message)[:MAX_LINE]}.", kind="mcp", hint=hint)
        result = decode_response(reply.content)
        return result if isinstance(result, dict) else {}

    def _reply(self, launch: Launch, inquire: Inquire, what: str) -> Result | Failed:
        """The server's reply, after answers to all its questions; `what`: the subject, for users."""
        refusals: list[str] = []

        def answered(
            requests_by_key: Mapping[str, Any], is_withdrawn: Callable[[], bool]
        ) -> dict[str, msgspec.Raw]:
            answers = self.questions.answers(launch.server, what, requests_by_key, is_withdrawn)
            return msgspec.json.decode(answers, type=dict[str, msgspec.Raw])

        def ask_now(question: AskNow, is_withdrawn: Callable[[], bool]) -> bytes:
            try:
                return bytes(
                    answered({question.key: decode_response(question.request)}, is_withdrawn)[question.key]
                )
            except Unanswerable as reason:
                refusals.append(str(reason))
                return CANCELLED

        for _ in range(MAX_ROUNDS + 1):
            reply = self.servers.read(launch, inquire, NeverCancelled(), ask_now)
            if isinstance(reply, Failed) and refusals:
                return Failed(kind="asks", message=refusals[-1])
            if not isinstance(reply, InputRequired):
                return reply
            try:
                answers = answered(decode_response(reply.requests), lambda: False)
            except Unanswerable as reason:
                return Failed(kind="asks", message=str(reason))
            inquire = msgspec.structs.replace(
                inquire, answers=msgspec.json.encode(answers), state=reply.state
            )
        return Failed(kind="asks", message=f"it asks for input more than {MAX_ROUNDS} times")


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _resource(server: str, entry: Mapping[str, Any], address: str) -> McpResource:
    uri = entry.get(address)
    return McpResource(
        server=server,
        uri=uri if isinstance(uri, str) and uri == clean(uri) and "\n" not in uri else "",
        name=line(entry.get("title")) or line(entry.get("name")),
        description=line(entry.get("description")),
        mime_type=line(entry.get("mimeType")),
        is_template=address != "uri",
    )


def _content(entry: Mapping[str, Any]) -> McpContent:
    text, blob = entry.get("text"), entry.get("blob")
    try:
        data = text.encode() if isinstance(text, str) else base64.b64decode(str(blob or ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Rejected(f"What is at {line(entry.get('uri'))} could not be read.", kind="mcp") from error
    return McpContent(uri=line(entry.get("uri")), mime_type=line(entry.get("mimeType")), data=data)


Person = Callable[[InputRequested, Callable[[], bool]], Sequence[InputAnswered]]
"""Asks the user at this terminal. In the question, `turn` is empty, and `call` names the subject. The
second argument returns whether the server has stopped waiting. Raises `Rejected` if the user leaves."""


class ReaderQuestions(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Answers for servers by a `person`; None: without a user. `seconds`: the time limit of an answer."""

    clock: Clock
    seconds: float
    redact: Callable[[str], str]
    person: Person | None = None

    def by(self, person: Person | None) -> ReaderQuestions:
        """The same, with that user's answers."""
        return ReaderQuestions(clock=self.clock, seconds=self.seconds, redact=self.redact, person=person)

    def answers(
        self, server: str, what: str, requests_by_key: Mapping[str, Any], is_withdrawn: Callable[[], bool]
    ) -> bytes:
        """The answers as JSON by the server's names for what it asks.

        Raises `Unanswerable` without a user, or for a question that is never shown to a user.
        """
        if self.person is None:
            raise Unanswerable(CANNOT_ASK)
        requests = requests_of(requests_by_key, self.redact)
        question = InputRequested(
            turn="",
            call=what,
            server=server,
            requests=requests,
            expires_at=self.clock.now() + self.seconds,
        )
        refusals = [
            _answer(question, request, "decline", "policy") for request in requests if request.refusal
        ]
        new_answers = self.person(question, is_withdrawn) if len(refusals) < len(requests) else ()
        state = OpenInput(request=question, rounds=1, answers=(*refusals, *new_answers))
        late = [_answer(question, request, "cancel", "timeout") for request in state.unanswered]
        return as_mcp(OpenInput(request=question, rounds=1, answers=(*state.answers, *late)))


def _answer(question: InputRequested, request: InputRequest, action: Any, by: str) -> InputAnswered:
    return InputAnswered(turn=question.turn, call=question.call, key=request.key, action=action, by=by)
