"""Slash commands on the current session: switch, model, undo, answer."""

from __future__ import annotations

import re

from hermes_jobs.errors import Rejected
from hermes_jobs.features.snapshots.cli.files import rewound_lines
from hermes_jobs.features.snapshots.cli.rewind import TurnRewind
from hermes_jobs.features.usage.tables.usage import select_spending
from hermes_jobs.interfaces.chat.slash import ChatContext, CompletionItems
from hermes_jobs.interfaces.cli.moments import format_time
from hermes_jobs.interfaces.cli.output import cut, one_line
from hermes_jobs.kernel.events import Mode
from hermes_jobs.kernel.streams.approval_rules import MODES
from hermes_jobs.text.figures import pluralize

FILES = "--files"
FORK_POINT = re.compile(r"--(?P<flag>at|before)[\s=]+(?P<turn>\S+)\s*")
MAX_LISTED = 10  # sessions that `/session` lists
SCOPE_KEYS = {"once": "y", "session": "s", "always": "a"}
SCOPE_MEANINGS = {
    "once": "this one call",
    "session": "allow such calls until this session ends",
    "always": "allow such calls in this folder from now on",
}
ANSWER = re.compile(
    r"(?P<key>y(?:es)?|s|a|no?|r|c)(?:(?<=[nor])[\s,:]+(?P<reason>[^\s,:].*))?[\s,:]*", re.I | re.DOTALL
)
MEANINGS: dict[Mode, str] = {
    "ask": "asks before dangerous calls",
    "edits": "edits files; asks before every command that does more than read",
    "plan": "reads and proposes, changes nothing",
    "full": "asks only for keys, and for files that run by themselves",
}
RATINGS = {"up": "it was good", "down": "it was not", "none": "remove the rating"}
CYCLE: tuple[Mode, ...] = ("ask", "edits", "plan")
OFFERED = 50  # completed sessions


def new(chat: ChatContext, _rest: str) -> None:
    """Begin a session."""
    chat.conversation.open(None)
    chat.print_line("A new session starts with your next message.")


def clear(chat: ChatContext, rest: str) -> None:
    """Empty the screen and begin a session."""
    before = chat.conversation.lineage
    chat.clear()
    new(chat, rest)
    if before is not None:
        chat.print_line(f"The one before stays: /session {before}")


def session(chat: ChatContext, rest: str) -> None:
    """List sessions, or continue one. Raises `Rejected` if none or several match."""
    views = chat.application.views
    if not rest:
        here = chat.conversation.lineage
        for listed in views.sessions(limit=MAX_LISTED):
            mark = "*" if listed.lineage == here else " "
            when, label = format_time(listed.last_at), cut(one_line(listed.label), 50)
            chat.print_line(f"{mark} {listed.id}  {when:<16}  {label}")
        chat.print_line("/session ID or TITLE continues with one.")
        return
    chosen_session = views.session(views.find_session(rest))
    chat.print_line(
        f"Session {chosen_session.id}{f': {chosen_session.title}' if chosen_session.title else ''}"
    )
    chat.conversation.open(chosen_session.lineage)


def model(chat: ChatContext, rest: str) -> None:
    """Show or change the model."""
    if not rest:
        chat.print_line(f"{chat.conversation.model} answers. /model NAME changes it for this session.")
        return
    chat.conversation.change_model(rest)
    chat.print_line(f"{chat.conversation.model} answers from now on in this session.")


def continue_turn(chat: ChatContext, _rest: str) -> None:
    """Continue a turn that a limit stopped."""
    chat.print_line(chat.conversation.continue_last_turn())


def retry(chat: ChatContext, _rest: str) -> None:
    """Continue with a failed turn, or ask the last one again."""
    chat.print_line(chat.conversation.retry())


def undo(chat: ChatContext, rest: str) -> None:
    """Undo the last turn, with `--files` also its changes in files.

    Raises `Rejected`, before any change, if a file was changed since.
    """
    if rest not in ("", FILES):
        raise Rejected(f"/undo takes {FILES} or nothing, not {rest!r}.", kind="usage")
    turn = chat.conversation.last_turn()
    rewind = TurnRewind(chat.application, chat.application.views.turn(turn))
    turn_files = rewind.files()
    if rest and turn_files.net_changes:
        for line in rewound_lines(rewind, rewind.run()):
            chat.print_line(line)
    text = chat.conversation.undo()
    copy = chat.conversation.session
    chat.print_line(f"Undone: {cut(one_line(text), 60)}")
    chat.print_line(f"Now in {copy.id if copy else ''}, a copy from before that turn; nothing was erased.")
    if turn_files.files and not rest:
        files = pluralize(len(turn_files.files), "file")
        chat.print_line(f"{files} stay as that turn left them: /rewind {turn} restores them.")
    if turn_files.commands:
        chat.print_line("Commands ran in that turn; what they changed is not undone.")


def diff(chat: ChatContext, rest: str) -> None:
    """Show what a turn, or the last one, changed in files: of one that runs or waits, what it has changed so
    far. Raises `Rejected` where there is none."""
    here = chat.conversation
    chat.command_line("turns", "diff", *(rest.split() or [here.running or here.last_turn()]))


def rewind_files(chat: ChatContext, rest: str) -> None:
    """Restore the files of a turn, or of the last one. Raises `Rejected` where there is none."""
    words = rest.split()
    has_target = bool(words) and not words[0].startswith("-")
    chat.command_line("turns", "rewind", *([] if has_target else [chat.conversation.last_turn()]), *words)


def fork_session(chat: ChatContext, rest: str) -> None:
    """Switch to a copy of the session, or of its state at a turn; the rest of the words is its title.

    Raises `Rejected`.
    """
    from hermes_jobs.client.sessions import Sessions

    here = chat.conversation.require_session()
    point: dict[str, str] = {}
    while (match := FORK_POINT.match(rest)) is not None:
        point[match["flag"]] = match["turn"]
        rest = rest[match.end() :]
    copy = Sessions(chat.application).fork(here.lineage, **point).session
    chat.conversation.open(copy, quiet=True)
    if rest:
        chat.conversation.rename(rest)
    chat.print_line(f"It continues in a copy, {copy}. The session before stays: /session {here.lineage}")


def title(chat: ChatContext, rest: str) -> None:
    """Show or change the session's title."""
    if not rest:
        here = chat.conversation.session
        chat.print_line((here and here.title) or "It has no title. Set one: /title WORDS")
        return
    chat.print_line(f"This session is called {chat.conversation.rename(rest)!r}.")


def skill(chat: ChatContext, rest: str) -> None:
    """Put a skill into the next turn. Raises `Rejected` for no name or an unknown one."""
    if not rest:
        raise Rejected("Which skill? /skill NAME [TEXT]", kind="usage", hint="/skills lists them.")
    name, *text = rest.split(maxsplit=1)
    chat.send("".join(text), mentions="".join(text), skill=name)


def compress(chat: ChatContext, rest: str) -> None:
    """Compress the history."""
    chat.conversation.compress(rest)


def cancel(chat: ChatContext, rest: str) -> None:
    """Cancel the running turn, or one sub-agent by its session or turn. Raises `Rejected` for another."""
    if rest:
        chat.print_line(f"Cancelled: {chat.conversation.cancel_child(rest)}")
    elif not chat.conversation.cancel():
        chat.print_line("No turn is running in this session.")


def agents(chat: ChatContext, _rest: str) -> None:
    """List the running sub-agents."""
    children = chat.conversation.children()
    for depth, child in children:
        role = f"{child.ref.role}: " if child.ref.role else ""
        chat.print_line(
            cut(f"{'  ' * depth}{child.ref.session}  {role}{one_line(child.ref.goal)}", chat.columns() - 1)
        )
    if children:
        chat.print_line("/cancel ID cancels one. All kinds: hermes-jobs agents list")
    else:
        chat.print_line("No sub-agent is running. All kinds: hermes-jobs agents list")


def running_agents(chat: ChatContext) -> CompletionItems:
    """The running sub-agents, for completion."""
    return [
        (child.ref.session, cut(one_line(child.ref.goal), 50)) for _, child in chat.conversation.children()
    ]


def approve(chat: ChatContext, rest: str) -> None:
    """Allow the waiting tool call: once, for this session, or always."""
    words = rest.split()
    scope = next((word for word in words if word in SCOPE_KEYS), "once")
    call = next((word for word in words if word not in SCOPE_KEYS), None)
    chat.conversation.questions.answer(SCOPE_KEYS[scope], call=call)


def deny(chat: ChatContext, rest: str) -> None:
    """Refuse the waiting tool call, with a reason."""
    chat.conversation.questions.answer("n", rest)


def answer(chat: ChatContext, text: str) -> bool:
    """Handle a text as the answer to the open question: a letter, `n` and a reason, or a field of the open
    form; returns whether it was one."""
    if chat.conversation.questions.first() is None:
        return False
    filled_in = chat.conversation.questions.fill_in(text)
    if filled_in is not None:
        chat.print_line(filled_in)
        return True
    match = ANSWER.fullmatch(text.strip())
    if match is None:
        return False
    key, reason = match["key"][0].lower(), (match["reason"] or "").strip()
    if key == "r" and not reason:
        chat.print_line("Type the reason with it: n REASON")
    else:
        chat.conversation.questions.answer("n" if reason else key, reason)
    return True


def mode(chat: ChatContext, rest: str) -> None:
    """Show or change the permission mode. Raises `Rejected` for an unknown mode."""
    chosen = next((mode for mode in MODES if mode == rest.strip().lower()), None)
    if rest and chosen is None:
        hint = f"There are {', '.join(MODES)}; shift-tab goes from one to the next."
        raise Rejected(f"There is no mode {rest!r}.", kind="usage", hint=hint)
    if chosen is not None:
        chat.conversation.change_mode(chosen)
        chat.print_line(f"Mode {chosen}: {MEANINGS[chosen]}.")
        return
    for name, meaning in MEANINGS.items():
        chat.print_line(f"{'*' if name == chat.conversation.mode else ' '} {name:<6} {meaning}")


def next_mode(chat: ChatContext) -> None:
    """Switch to the next mode; `full` has to be typed."""
    now = chat.conversation.mode
    index = CYCLE.index(now) if now in CYCLE else -1
    chat.conversation.change_mode(CYCLE[(index + 1) % len(CYCLE)])


# --- completions ------------------------------------------------------------


def rate(chat: ChatContext, rest: str) -> None:
    """Rate the last turn. Raises `Rejected` without a rating."""
    rating, _, note = rest.partition(" ")
    if rating not in RATINGS:
        raise Rejected("Say up, down or none: /rate up", kind="usage")
    noted = ("--note", note) if note.strip() else ()
    chat.command_line("turns", "rate", chat.conversation.last_turn(), rating, *noted)


def known_skills(chat: ChatContext) -> CompletionItems:
    """The skills in the agent's index."""
    catalog = chat.application.skills
    for entry in catalog.read_entries()[0]:
        if entry.text is not None and not entry.hidden(None, catalog.platform):
            yield entry.name, cut(one_line(entry.text.description), 60)


def known_ratings(_chat: ChatContext) -> CompletionItems:
    """The arguments of `rate`."""
    yield from RATINGS.items()


def known_sessions(chat: ChatContext) -> CompletionItems:
    """Titles, and ids of those that have none, the last used first."""
    for session in chat.application.views.sessions(limit=OFFERED):
        yield session.title or session.id, one_line(session.preview)[:60]


def known_models(chat: ChatContext) -> CompletionItems:
    """The configured model, aliases, ensembles, and those that have answered before."""
    settings = chat.application.settings
    configured = settings.model_name
    yield configured, "as configured"
    yield from settings.models.aliases.items()
    for name, entry in settings.models.ensembles.items():
        yield name, f"{', '.join(entry.members)}, then {entry.aggregator}"
    for spending in chat.application.views.read(select_spending, by="model"):
        if spending.key and spending.key != configured:
            yield spending.key, f"{spending.requests} answers so far"


def known_scopes(_chat: ChatContext) -> CompletionItems:
    """The durations of an approval."""
    yield from SCOPE_MEANINGS.items()


def known_modes(_chat: ChatContext) -> CompletionItems:
    """The modes, with descriptions."""
    yield from MEANINGS.items()
