"""What waits for a person: approvals, questions, and what has failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.api.api import used_up
from hermes_jobs.features.mcp.events import McpServerFailed
from hermes_jobs.features.serve.pages.forms import Form, fill_in, form_of
from hermes_jobs.features.serve.pages.frame import Table, caller_of, done, field, page, site_of
from hermes_jobs.interfaces.cli.questions.approval import ApprovalQuestion
from hermes_jobs.interfaces.cli.questions.edit_diff import command_of, diff_of
from hermes_jobs.interfaces.cli.questions.open import OpenQuestions
from hermes_jobs.kernel.feature import Decidable, parts
from hermes_jobs.kernel.streams.accounts import NANO
from hermes_jobs.kernel.streams.approval_rules import offer_text
from hermes_jobs.kernel.streams.budgets import DAY, WARNING_SHARE
from hermes_jobs.kernel.turns.questions import Question, question_of
from hermes_jobs.kernel.turns.titles import revealed
from hermes_jobs.text.figures import money
from hermes_jobs.text.moments import day_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from hermes_jobs.features.serve.site import Site
    from hermes_jobs.kernel.events import ApprovalScope
    from hermes_jobs.kernel.views.models import TurnView

FAILED = 10
PARKED = 20
KINDS = {"+": "added", "-": "removed", "@": "hunk"}
SCOPES = ("once", "session", "always")


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A call that waits, as it is shown. `seal` binds an answer to what is shown. `offer`: what `session` and
    `always` would allow; empty: they cannot be chosen."""

    turn: str
    call: str
    tool: str
    why: str
    command: str
    diff: tuple[tuple[str, str], ...]
    arguments: str
    folder: str
    offer: str
    minutes: int
    seal: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """What waits. `forms`: what servers ask."""

    approvals: tuple[Approval, ...]
    questions: tuple[Question, ...]
    forms: tuple[Form, ...]

    @property
    def count(self) -> int:
        """How many answers are due."""
        return len(self.approvals) + len(self.questions) + len(self.forms)


def waiting(site: Site, turn: str | None = None) -> Waiting:
    """What waits in that turn and below it, or in all turns."""
    views = site.application.views
    roots = [turn] if turn else [each.id for each in views.turns(status="waiting", limit=100)]
    approvals: dict[str, Approval] = {}
    questions: dict[str, Question] = {}
    forms: dict[str, Form] = {}
    for root in roots:
        for tree in views.tree_below(root).walk():
            if tree.waiting:
                _add(site, tree.turn, approvals, questions, forms)
    return Waiting(
        approvals=tuple(approvals.values()), questions=tuple(questions.values()), forms=tuple(forms.values())
    )


def _add(
    site: Site,
    turn: TurnView,
    approvals: dict[str, Approval],
    questions: dict[str, Question],
    forms: dict[str, Form],
) -> None:
    folder = site.application.views.session(turn.session).workdir or ""
    for each in _open(site, turn.stream).listed(folder):
        if isinstance(each, ApprovalQuestion):
            approvals[each.id] = _approval(site, each)
        elif each.request.server or (asked := question_of(each.request, each.input_request)) is None:
            forms[f"{each.call} {each.input_request.key}"] = form_of(each)
        else:
            questions[asked.id] = asked


def _open(site: Site, stream: str) -> OpenQuestions:
    found = OpenQuestions()
    for recorded in site.application.log.read(stream):
        found.handle(recorded.event)
    return found


def _approval(site: Site, question: ApprovalQuestion) -> Approval:
    call, request = question.tool_call, question.request
    diff = diff_of(call, question.folder)
    offer = "" if request.offer is None else offer_text(request.offer)
    shown = (request.turn, request.call, call.name, call.arguments, request.rule, request.digest, offer)
    return Approval(
        turn=request.turn,
        call=request.call,
        tool=call.name,
        why=request.rule,
        command=revealed(command_of(call)),
        diff=tuple((KINDS.get(line[:1], ""), line) for line in diff),
        arguments=revealed(call.arguments),
        folder=question.folder,
        offer=offer,
        minutes=max(0, round((request.expires_at - time.time()) / 60)),
        seal=site.sign_in.seal(*shown),
    )


class UsedUp(msgspec.Struct, frozen=True, kw_only=True):
    """A budget that is nearly used up, and the command that gives more."""

    title: str
    about: str
    command: str


def show(request: Request) -> Response:
    """The first page."""
    site = site_of(request)
    found = waiting(site)
    failed = site.turns.list(status="failed", limit=FAILED)
    runs = [each for each in site.schedules.list() if each.failures]
    logins, budgets = _logins(site), _budgets(site)
    decidable = _decidable(site)
    count = found.count + len(logins) + len(decidable)
    title = f"({count}) Waiting for you" if count else "Nothing waits for you"
    parked = [each for each in site.turns.list(status="waiting", limit=PARKED) if each.waits_until]
    return page(
        request,
        "waiting.html",
        title,
        live="all",
        found=found,
        logins=logins,
        budgets=budgets,
        decidable=decidable,
        failed=failed,
        runs=runs,
        parked=parked,
        back="/",
    )


def _logins(site: Site) -> Sequence[McpServerFailed]:
    """The MCP servers that cannot be used without a login: not those that were removed."""
    log, known = site.application.log, site.application.settings.mcp_servers
    newest = (log.read(head.stream, after=head.version - 1) for head in log.streams("mcp-"))
    events = [recorded.event for batch in newest for recorded in batch[-1:]]
    return [
        event
        for event in events
        if isinstance(event, McpServerFailed) and event.login and event.server in known
    ]


def _budgets(site: Site) -> Sequence[UsedUp]:
    """The budgets that stop further turns, or will soon: that of the day, and those of programs' keys."""
    application = site.application
    limit, found = application.settings.budgets.day_usd, list[UsedUp]()
    day = day_of(application.clock.now(), application.settings.zone)
    spent = application.log.account(DAY + day).spent.nano_usd / NANO
    if limit is not None and spent >= WARNING_SHARE * limit:
        command = "hermes-jobs config set budgets.day_usd USD"
        found.append(_used_up("of today", spent, limit, command))
    for key, spent_usd, budget_usd in used_up(application):
        command = f"hermes-jobs keys edit {key} --budget USD"
        found.append(_used_up(f"of the key {key} for this month", spent_usd, budget_usd, command))
    return found


def _used_up(whose: str, spent: float, limit: float, command: str) -> UsedUp:
    title = f"{spent / limit:.0%} of the budget {whose} is used up"
    return UsedUp(title=title, about=f"{money(spent)} of {money(limit)}.", command=command)


def decide(request: Request) -> Response:
    """Allow or refuse the call that the form shows. Raises `Rejected` for another one."""
    site, turn = site_of(request), request.path_params["turn"]
    call, scope = field(request, "call"), field(request, "answer")
    shown = next((each for each in waiting(site, turn).approvals if each.call == call), None)
    if shown is None:
        raise Rejected(
            "This call does not wait any more: it was answered, or its time is over.", kind="answered"
        )
    if shown.seal != field(request, "seal"):
        raise Rejected("This is not the call that was shown. Nothing was recorded.", kind="usage")
    by = caller_of(request).name
    if scope == "no":
        site.turns.deny(turn, call=call, reason=field(request, "reason"), by=by)
    elif scope in SCOPES and (scope == "once" or shown.offer):
        site.turns.approve(turn, call=call, scope=cast("ApprovalScope", scope), by=by)
    else:
        raise Rejected(f"{scope!r} is no answer to this call.", kind="usage")
    return done(_back(request))


def _decidable(site: Site) -> Sequence[Decidable]:
    """What else waits in features until a person decides."""
    return [each for deciding in parts("deciding") for each in deciding(site.application)]


def settle(request: Request) -> Response:
    """Do with what waits in a feature what was decided. Raises `Rejected`."""
    name, act = request.path_params["id"], field(request, "act")
    shown = next((each for each in _decidable(site_of(request)) if each.id == name), None)
    if shown is None:
        raise Rejected("This does not wait any more: it was decided, or its time is over.", kind="answered")
    if act not in shown.acts:
        raise Rejected(f"{act!r} cannot be done with this.", kind="usage")
    shown.acts[act](caller_of(request).name)
    return done("/")


def answer(request: Request) -> Response:
    """Answer a question of the agent or of a server. Raises `Rejected`."""
    site, by = site_of(request), caller_of(request).name
    turn, call, key = request.path_params["turn"], field(request, "call"), field(request, "key")
    if field(request, "decline"):
        site.turns.answer(turn, call=call, key=key, action="decline", by=by)
        return done(_back(request))
    for form in waiting(site, turn).forms:
        if (form.call, form.key) == (call, key):
            return fill_in(request, form)
    chosen = [int(each) for each in request.state.form.getlist("choice") if str(each).isdecimal()]
    text = field(request, "text").strip()
    both: list[str | int] = [*chosen, *([text] if text else [])]
    if not both:
        raise Rejected("The answer is empty. Nothing was recorded.", kind="usage")
    site.turns.answer(turn, both if len(both) > 1 else both[0], call=call, key=key, by=by)
    return done(_back(request))


def _back(request: Request) -> str:
    return f"/turns/{request.path_params['turn']}" if field(request, "back") == "turn" else "/"


ROUTES: Table = {
    ("GET", "/"): show,
    ("POST", "/waiting/{id}"): settle,
    ("POST", "/turns/{turn}/decide"): decide,
    ("POST", "/turns/{turn}/answer"): answer,
}
