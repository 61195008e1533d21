"""Key bindings of a chat, and the keys that answer the open question without Enter."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from hermes_jobs.interfaces.chat.conversation import Conversation
from hermes_jobs.interfaces.chat.pasting import with_mentions
from hermes_jobs.interfaces.cli.questions.open import AnyQuestion

ANSWERS = "ysanrc"  # the keys of all questions
SETTLE_SECONDS = 0.5  # seconds in which a new question cannot be answered: the key was pressed before
WITH_REASON = "r"  # asks for the reason of a refusal, which is typed behind it


@Condition
def is_input_empty() -> bool:
    """Whether the input line is empty."""
    return not get_app().current_buffer.text


@Condition
def has_selected_completion() -> bool:
    """Whether a completion is selected in the menu."""
    state = get_app().current_buffer.complete_state
    return state is not None and state.current_completion is not None


def chat_keys(
    *,
    interrupt: Callable[[], None],
    leave: Callable[[], None],
    next_mode: Callable[[], object],
    answer: Callable[[str], object],
    answer_keys: Callable[[], str],
    picture: Callable[[], str],
) -> KeyBindings:
    """Enter sends and Esc Enter begins a line. With empty input, `interrupt` is called on Ctrl-C, `leave` on
    Ctrl-D, and `answer` with a key if `answer_keys()` has it at that moment; `next_mode` on Shift-Tab, unless
    a completion is selected. Ctrl-V inserts what `picture()` returns."""
    keys = KeyBindings()
    _add_editing_keys(keys)

    @keys.add("c-v")
    def _picture(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(picture())

    @keys.add("s-tab", filter=~has_selected_completion)
    def _next_mode(_event: KeyPressEvent) -> None:
        next_mode()

    @keys.add("c-c", filter=is_input_empty)
    @keys.add("<sigint>", filter=is_input_empty)
    def _interrupt(_event: KeyPressEvent) -> None:
        interrupt()

    @keys.add("c-d", filter=is_input_empty)
    def _leave(_event: KeyPressEvent) -> None:
        leave()

    for key in chain(ANSWERS, ANSWERS.upper()):
        _add_answer_key(keys, key, answer, answer_keys)
    return keys


def _add_editing_keys(keys: KeyBindings) -> None:
    @keys.add("enter", filter=~has_selected_completion)
    @keys.add("c-j", filter=~has_selected_completion)  # Enter, if read while a command had the terminal
    def _send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("enter", filter=has_selected_completion)
    def _accept_completion(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @keys.add("escape", "enter")
    def _begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        is_command = buffer.text.startswith(("!", "/"))  # which takes paths, not mentions
        buffer.insert_text(text if is_command else with_mentions(text))

    @keys.add("tab")
    def _complete(event: KeyPressEvent) -> None:
        complete(event.current_buffer)

    @keys.add("c-c", filter=~is_input_empty)
    @keys.add("<sigint>", filter=~is_input_empty)
    def _clear(event: KeyPressEvent) -> None:
        event.current_buffer.reset()


def _add_answer_key(
    keys: KeyBindings, key: str, answer: Callable[[str], object], answer_keys: Callable[[], str]
) -> None:
    @keys.add(key, filter=is_input_empty & Condition(lambda: key.lower() in answer_keys()))
    def _answer(event: KeyPressEvent) -> None:
        if _is_pasted(event):
            event.current_buffer.insert_text(event.data)
        else:
            answer(key.lower())


def _is_pasted(event: KeyPressEvent) -> bool:
    """Whether more text was read with the key: it was pasted, on a terminal that does not mark that."""
    return any(len(press.data) == 1 for press in event.key_processor.input_queue)


def complete(buffer: Buffer) -> None:
    """Handle Tab: insert the only completion, else the common beginning, else offer one after the other.

    It computes completions itself: those computed while typing may come later.
    """
    completions = list(
        buffer.completer.get_completions(buffer.document, CompleteEvent(completion_requested=True))
    )
    shared = get_common_complete_suffix(buffer.document, completions)
    if len(completions) == 1:
        buffer.cancel_completion()
        buffer.apply_completion(completions[0])
    elif shared:
        buffer.insert_text(shared)
    elif buffer.complete_state is not None:
        buffer.complete_next()
    else:
        buffer.start_completion(select_first=True)


class AnswerKeys:
    """The keys that answer the question that is shown, enabled `SETTLE_SECONDS` seconds after it appeared."""

    def __init__(self, conversation: Conversation, now: Callable[[], float]) -> None:
        """`now` is a monotonic clock, in seconds."""
        self._conversation = conversation
        self._now = now
        self._question: AnyQuestion | None = None
        self._since = 0.0

    def update(self) -> bool:
        """Read the question that is shown; returns whether it is a new one, whose keys are still disabled."""
        before, self._question = self._question, self._conversation.questions.of_keys()
        if self._question is None or (before is not None and before.id == self._question.id):
            return False
        self._since = self._now()
        return True

    @property
    def keys(self) -> str:
        """The keys that answer now; empty without a question, or while it is new."""
        question = self._question
        return question.keys if question is not None and self._now() >= self._since + SETTLE_SECONDS else ""

    def take(self) -> str:
        """Disable the keys; returns the id of the question that is shown, empty for none."""
        question, self._question = self._question, None
        return question.id if question is not None else ""
