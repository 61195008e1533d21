"""The turns of a home, for programs: submit, wait, follow, decide about calls that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from hermes_jobs.client.following import Following, TextPart, TurnEvent
from hermes_jobs.client.submission import resumption, retrial, settings_for_workers, submission
from hermes_jobs.client.waiting import TurnWait
from hermes_jobs.errors import Rejected
from hermes_jobs.features.deliveries.api import parse_target
from hermes_jobs.features.titles.api import lineage_called, rename_session
from hermes_jobs.kernel.events import (
    ApprovalScope,
    BusyPolicy,
    CallPattern,
    InputAction,
    Mode,
    Opening,
    TurnSubmitted,
)
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.kernel.turns.attachments import Attachment
from hermes_jobs.kernel.turns.forms import filled_in
from hermes_jobs.kernel.turns.inputs import waiting_request
from hermes_jobs.kernel.turns.questions import Answer, Question, content_of, open_questions
from hermes_jobs.kernel.turns.submitted import Submitted
from hermes_jobs.kernel.turns.titles import clean_title
from hermes_jobs.kernel.views.models import SessionView, StatusFilter
from hermes_jobs.kernel.views.turn_json import (
    DetailedTurnJson,
    ListedTurnJson,
    TurnJson,
    detailed_turn_json,
    listed_turn_json,
    turn_json,
)

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.settings.turn_settings import TurnSettings

BY = "user"


class TurnOptions(TypedDict, total=False):
    """The options of a turn, all of which may be left out; `Home.send` says what they mean."""

    session: str | None
    begin: bool
    key: str | None
    workdir: str | Path | None
    model: str | None
    system: str | None
    toolsets: Sequence[str] | None
    mode: Mode | None
    approve: Sequence[str]
    unattended: bool
    schema: Mapping[str, Any] | None
    source: str
    if_busy: BusyPolicy | None
    deliver: Sequence[str]


class Turns:
    """The turns of a home. `turn` is an id, the unique beginning of one, or `last`. Safe for threads."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._engine = application.engine()
        self._ran_here = False

    # --- reading ------------------------------------------------------------------------------------

    def get(self, turn: str) -> DetailedTurnJson:
        """A turn with its steps. Raises `Rejected`, kind `not_found` or `ambiguous`."""
        return detailed_turn_json(self._application.views.turn(self.find(turn).turn))

    def list(
        self, *, session: str | None = None, status: StatusFilter | None = None, limit: int = 20
    ) -> tuple[ListedTurnJson, ...]:
        """The newest turns, newest first."""
        views = self._application.views
        chosen = views.find_session(session) if session else None
        found = views.turns(session=chosen, status=status, limit=limit)
        return tuple(listed_turn_json(turn) for turn in found)

    def find(self, turn: str) -> Submitted:
        """The turn that an id, its beginning or `last` means. Raises `Rejected`."""
        view = self._application.views.turn(self._application.views.find_turn(turn))
        return Submitted(turn=view.id, stream=view.stream)

    def current(self, submitted: Submitted) -> TurnJson:
        """The turn as it is now."""
        return turn_json(self._application.views.turn(submitted.turn))

    def submitted(self, key: str) -> Submitted | None:
        """The turn that was submitted with that key."""
        return self._engine.submitted(key)

    def outcome(self, submitted: Submitted) -> TurnJson:
        """The turn as it is now; where it was merged into another one, that one."""
        turn = self.current(submitted)
        while turn.into is not None:
            turn = self.current(msgspec.structs.replace(submitted, turn=turn.into))
        return turn

    # --- submitting and waiting -----------------------------------------------------------------------

    def submit(  # noqa: PLR0913 - `TurnOptions`
        self,
        text: str,
        *,
        session: str | None = None,
        begin: bool = False,
        key: str | None = None,
        workdir: str | Path | None = None,
        model: str | None = None,
        system: str | None = None,
        toolsets: Sequence[str] | None = None,
        mode: Mode | None = None,
        approve: Sequence[str] = (),
        unattended: bool = False,
        schema: Mapping[str, Any] | None = None,
        source: str = "python",
        if_busy: BusyPolicy | None = None,
        deliver: Sequence[str] = (),
        attachments: Sequence[Attachment] = (),
        account: str = "",
        account_usd: float | None = None,
        client_data: str = "",
        runs_here: bool = False,
    ) -> Submitted:
        """Submit a text as `Home.send` does, without waiting. `attachments`: what the home has taken in.
        `account`: what is charged for it besides, up to `account_usd` in all. `client_data`: JSON that
        the program reads again with the answer.
        `runs_here`: this process waits, and runs the turn where no worker can. Raises `Rejected`,
        `Misconfigured`, `LogUnavailable`."""
        application = self._application
        if not text.strip():
            raise Rejected("The text is empty.", kind="usage")
        view, title = self._session(session, begin=begin)
        if view is not None and (system or workdir) and not begin:
            raise Rejected("A session keeps its system prompt and its folder.", kind="usage")
        model = application.settings.models.aliases.get(model, model) if model else None
        answering = model or (view.model if view is not None else None) or None
        application.check(answering)
        begun = lineage_called(title) if title is not None else application.ids.name("s")
        command = TurnSubmitted(
            turn=application.ids.name("t"),
            text=text,
            source=source,
            session=view.lineage if view is not None else begun,
            key=key,
            if_busy=if_busy or application.settings.session.if_busy,
            approve=self._patterns(approve),
            unattended=unattended,
            answer_schema=_json_schema(schema),
            attachments=tuple(attachments),
            account=account,
            account_usd=account_usd,
            client_data=client_data,
            deliver=tuple(dict.fromkeys(parse_target(target).text for target in deliver)),
        )
        opening = Opening(
            model=model,
            system=system,
            workdir=_folder(workdir),
            toolsets=self._known_toolsets(toolsets),
            mode=mode,
        )
        settings = self._settings(answering, runs_here=runs_here)
        application.sync_files()
        submitted = self._engine.submit(
            submission(command, opening, settings, is_first=view is None),
            asked_for="" if view is None else view.lineage,
        )
        if title is not None:
            rename_session(self._engine, command.session, title)
        return submitted

    def _patterns(self, texts: Sequence[str]) -> tuple[CallPattern, ...]:
        if not texts:
            return ()
        from hermes_jobs.client.approvals import Approvals

        return Approvals(self._application).patterns(texts)

    def _session(self, name: str | None, *, begin: bool) -> tuple[SessionView | None, str | None]:
        """The session of that name; else, where it may begin, the title of a new one. Raises `Rejected`."""
        if not name:
            return None, None
        views = self._application.views
        try:
            return views.session(views.find_session(name)), None
        except Rejected as unknown:
            if not begin or unknown.kind != "unknown_session":
                raise
            return None, clean_title(name)

    def wait(self, turn: str | Submitted, *, timeout: float | None = None) -> TurnJson:
        """Wait until the turn ends, asks a person, or for `timeout` seconds; returns it as it is then.

        Where no worker is alive, its steps run in this process."""
        submitted = turn if isinstance(turn, Submitted) else self.find(turn)
        self._wait(TurnWait(self._application, submitted), timeout)
        return self.current(submitted)

    def follow(
        self, turn: str | Submitted, *, timeout: float | None = None
    ) -> Iterator[TextPart | TurnEvent | TurnJson]:
        """Yield what happens in the turn from now on, as `Home.stream` does."""
        submitted = turn if isinstance(turn, Submitted) else self.find(turn)
        yield from Following(self._application, submitted, self._wait).parts(timeout)
        yield self.current(submitted)

    def _wait(self, wait: TurnWait, timeout: float | None) -> None:
        try:
            wait.wait(timeout)
        finally:
            self._ran_here |= wait.runs_here

    def finish_jobs(self) -> None:
        """Perform the jobs that turns of this process left to others, such as titles and reviews, where no
        worker is alive."""
        if not self._ran_here or self._application.workers.are_live():
            return
        from hermes_jobs.runtime.inline_worker import InlineWorker

        self._ran_here = False
        with InlineWorker(self._application) as worker:
            worker.drain()

    # --- deciding -------------------------------------------------------------------------------------

    def cancel(self, turn: str, *, by: str = BY) -> TurnJson:
        """Cancel a turn; a running one ends when its calls are interrupted. Raises `Rejected`."""
        from hermes_jobs.runtime.recovery import reclaim_from_dead_workers

        submitted = self.find(turn)
        session = self._engine.execute(submitted.stream, c.CancelTurn(turn=submitted.turn, by=by))
        if submitted.turn not in session.ended:  # else no process may end it
            reclaim_from_dead_workers(self._engine, self._application.workers.failure_detector())
        return self.current(submitted)

    def retry(
        self,
        turn: str,
        *,
        model: str | None = None,
        budget_usd: float | None = None,
        wait: bool = True,
        by: str = BY,
    ) -> TurnJson:
        """Resume a failed, cancelled or stopped turn after its last step, under the same id.

        `budget_usd`: the limit of the whole turn from now on.
        """
        submitted = self.find(turn)
        resumed = resumption(self._application, submitted.turn, model=model, budget_usd=budget_usd, by=by)
        self._engine.execute(submitted.stream, retrial(self._application, submitted, resumed))
        return self.wait(submitted) if wait else self.current(submitted)

    def approve(
        self, turn: str, *, call: str | None = None, scope: ApprovalScope = "once", by: str = BY
    ) -> TurnJson:
        """Allow a call that waits, of the turn or of a sub-agent below it: once, for the session, or always
        (by a rule for its folder). The turn goes on: `wait` for it."""
        now = self._application.clock.now()
        return self._decide(
            turn, call, lambda asker: c.ApproveCall(turn=asker, call=call, by=by, now=now, scope=scope)
        )

    def deny(self, turn: str, *, call: str | None = None, reason: str = "", by: str = BY) -> TurnJson:
        """Refuse a call that waits; the agent is given the reason."""
        return self._decide(
            turn, call, lambda asker: c.DenyCall(turn=asker, call=call, by=by, reason=reason.strip())
        )

    def answer(
        self,
        turn: str,
        answer: Mapping[str, Any] | Answer | None = None,
        *,
        call: str | None = None,
        key: str | None = None,
        action: InputAction = "accept",
        by: str = BY,
    ) -> TurnJson:
        """Answer what the agent or a server asks in a call that waits: a text, the number of a choice, or
        several of them; the fields of a server's form, where a missing one has its default; or `action`
        `decline` or `cancel`.

        Raises `Rejected` for an answer that does not fit, with the reason: the question still waits; kind
        `answered` where another answer came first; and for an answer with a secret.
        """
        submitted = self.find(turn)
        asker = self.asking(submitted, call)
        now = self._application.clock.now()
        command = c.AnswerInput(turn=asker.turn, call=call, key=key, action=action, by=by, now=now)
        command = msgspec.structs.replace(command, content=self._content(asker, command, answer))
        if self._application.settings.secrets.redact_known(command.content) != command.content:
            raise Rejected("The answer contains one of your secrets. Nothing was recorded.", kind="secret")
        self._engine.execute(asker.stream, command)
        return self.current(submitted)

    def _content(
        self, asker: Submitted, command: c.AnswerInput, answer: Mapping[str, Any] | Answer | None
    ) -> str:
        if answer is None and command.action != "accept":
            return ""
        _, request = waiting_request(self._engine.sessions.load(asker.stream), command)
        if answer is None and request.url:
            return ""
        if answer is None or isinstance(answer, Mapping):
            return filled_in(request.fields, answer or {})
        return content_of(request, answer)

    def questions(self, turn: str) -> tuple[Question, ...]:
        """What the turn, or a sub-agent below it, asks a person; `answer` takes their `call` and `key`."""
        below = self._application.views.tree_below(self.find(turn).turn)
        streams = dict.fromkeys(tree.turn.stream for tree in below.walk() if tree.waiting)
        sessions = (self._engine.sessions.load(stream) for stream in streams)
        return tuple(question for session in sessions for question in open_questions(session))

    def _decide(self, turn: str, call: str | None, command: Callable[[str], c.SessionCommand]) -> TurnJson:
        """Record a decision about a call of the turn or of one below it, whose id `command` takes."""
        submitted = self.find(turn)
        asker = self.asking(submitted, call)
        self._engine.execute(asker.stream, command(asker.turn))
        return self.current(submitted)

    def asking(self, submitted: Submitted, call: str | None) -> Submitted:
        """The turn that asks a person: this one, or a sub-agent below it.

        Raises `Rejected`, kind `ambiguous`, where several ask and no call is named.
        """
        below = self._application.views.tree_below(submitted.turn)
        trees = [tree for tree in below.walk() if tree.waiting]
        if call is not None:
            trees = [asker for asker in trees if any(step.id == call for step in asker.waiting)]
        if len(trees) > 1:
            calls = [step.id for asker in trees for step in asker.waiting]
            raise Rejected(
                f"Calls of {len(trees)} turns wait: {', '.join(calls)}.",
                kind="ambiguous",
                hint=f"Choose one: --call {calls[0]}",
            )
        if not trees:
            return submitted
        turn = trees[0].turn
        return Submitted(turn=turn.id, stream=turn.stream)

    # --- options --------------------------------------------------------------------------------------

    def _settings(self, model: str | None, *, runs_here: bool) -> TurnSettings:
        if runs_here:
            return self._application.travelling(model)
        return settings_for_workers(self._application, model)

    def _known_toolsets(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        known = self._application.toolbox.toolsets
        unknown = [name for name in names if name not in known]
        if unknown or not names:
            what = f"There is no toolset {unknown[0]!r}" if unknown else "No toolset is named"
            raise Rejected(f"{what}; there are {', '.join(known)}.", kind="usage")
        return tuple(names)


def _folder(path: str | Path | None) -> str | None:
    """An existing folder as an absolute path. Raises `Rejected`."""
    if path is None:
        return None
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise Rejected(f"{str(path)!r} is no folder.", kind="usage")
    return str(folder)


def _json_schema(schema: Mapping[str, Any] | None) -> str:
    """A JSON Schema as compact text. Raises `Rejected` for one that cannot be used."""
    if schema is None:
        return ""
    from hermes_jobs.text.json_schema import compact, schema_fault

    text = msgspec.json.encode(schema).decode()
    if fault := schema_fault(text):
        raise Rejected(f"The schema is not a usable JSON Schema: {fault}.", kind="usage")
    return compact(text)
