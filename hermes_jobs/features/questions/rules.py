"""What the agent asks a person, as the form that the person fills in, and what it is told of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from hermes_jobs.kernel.events import InputChoice, InputField, InputRequest
from hermes_jobs.kernel.turns.call import OpenInput
from hermes_jobs.kernel.turns.forms import ANSWER

Unattended = Literal["refuse", "wait", "default"]
"""What becomes of a question in a turn that nobody attends."""

KEY = "question"
OWN_WAY = "Decide by yourself, or stop and say what you need to know."
NOBODY = f"Nobody is here to answer. {OWN_WAY}"
DECLINED = f"The user does not answer this question. {OWN_WAY}"
EXPIRED = f"Nobody answered in time. {OWN_WAY}"

ACCEPT, REFUSE = "accept", "refuse"
YES, NO = "yes", "no"
PLAN_FOR_NOBODY = "Nobody is here to accept it: put the plan into your answer, and stop."
PLAN_OPEN = "Nobody has decided about the plan. Plan mode stays: put the plan into your answer, and stop."
PLAN_ACCEPTED = "The user accepts the plan, and plan mode has ended: carry it out."
PLAN_REFUSED = "The user refuses the plan. Plan mode stays: change nothing, and stop with a short answer."
PLAN_CHANGED = "Plan mode stays. Work this wish of the user in, and propose the plan again: {wish}"
PLANNING = "The user agrees: read and think, change nothing, and propose the plan with propose_plan."
NOT_PLANNING = "The user wants no plan: go on without one."


def plan_proposal(plan: str) -> InputRequest:
    """The question whether to carry out the plan; an answer in other words says what to change."""
    return question(f"May I carry out this plan?\n\n{plan}", (ACCEPT, REFUSE), other="what to change")


def planning_proposal(reason: str) -> InputRequest:
    """The question whether to plan first."""
    text = f"Shall I plan first, and change nothing until you accept the plan?\n\n{reason}"
    return question(text, (YES, NO), free_text=False)


def question(
    text: str, choices: Sequence[str] = (), *, several: bool = False, free_text: bool = True, other: str = ""
) -> InputRequest:
    """The form of a question: one field, for a choice, for several, or for a text; `other` says what a text
    besides the choices means."""
    field = InputField(
        name=ANSWER,
        kind="text" if not choices else "choices" if several else "choice",
        description=other,
        required=True,
        choices=tuple(InputChoice(value=choice) for choice in choices),
        least=None if choices and not several else 1,
        open=bool(choices) and free_text,
    )
    return InputRequest(key=KEY, message=text, fields=(field,))


def answer_of(given: OpenInput) -> str | list[str] | None:
    """What the person answered; None where they did not."""
    (answer,) = given.answers
    if answer.action != "accept":
        return None
    content = msgspec.json.decode(answer.content, type=dict[str, str | list[str]])
    return content[ANSWER]


def no_answer(given: OpenInput) -> str:
    """What the agent is told where nobody answered."""
    (answer,) = given.answers
    return {"timeout": EXPIRED, "unattended": NOBODY}.get(answer.by, DECLINED)


def told(given: OpenInput) -> str:
    """What the agent is told of the answer."""
    answer = answer_of(given)
    if answer is None:
        return no_answer(given)
    return f"The user answers: {answer if isinstance(answer, str) else '; '.join(answer)}"


def by_default(choices: Sequence[str]) -> str:
    """What the agent is told where the first choice is the answer, because nobody attends the turn."""
    return f"Nobody is here to answer; your first choice is taken: {choices[0]}" if choices else NOBODY
