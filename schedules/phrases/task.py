"""The task: the sentence without its timing and its polite words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedules.phrases.outcome import unknown
from schedules.phrases.scan import Cluster
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import WORDS, word_set

_GREETING = re.compile(
    r"^(?:(?:(?:hi|hey|hello|ok|okay)(?: (?:there|hermes))?|hermes)\s*[,!:]?\s+(?=\w)"
    r"|(?:please|kindly)[\s,]+)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"(?:can|could|would|will) you (?:please |kindly )?(?:also )?"
    r"|(?:i|we)(?:'d| would)? (?:want|need|like) you to |you (?:should|must|have to|need to) "
    r"|(?:schedule|create|add|set up|setup|make) (?:a |an |the )?(?:new )?"
    r"(?:recurring |scheduled |daily |weekly )?(?:task|job|schedule|cron job|cronjob|run)"
    r"(?: that runs| that| to|:| for)?(?: runs)? |schedule: ?",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"[\s,.;!]*(?:,? ?(?:please|thanks(?: a lot)?|thank you(?: very much)?|thx|cheers))\s*[.!?]*$",
    re.IGNORECASE,
)
_LINK = re.compile(r"^(?:and then|then|and|that|to)[\s,]+(?=\w)", re.IGNORECASE)
_MARKS = " \t\r\n,;:-–—|>="
_GREETINGS = word_set("only just please ok okay hi hey hello hermes thanks thank you")
_PREPOSITIONS = word_set("in on for of during from with by per via until at into over under without within")
_CONDITIONS = WORDS["condition"] | word_set("only unless because")
_EMPTY = word_set(
    "once twice thrice times forever indefinitely too one a an the to and then it that this so do run me "
    "my also task timing schedule scheduled is sharp time o'clock i we be go"
)
_NO_TASK = _EMPTY | _GREETINGS | _PREPOSITIONS | _CONDITIONS | WORDS["again"] | WORDS["holiday"]
_NO_TASK |= WORDS["changing_before"] | WORDS["changing_after"] | WORDS["time_word"]


def task_of(sentence: Sentence, used: Sequence[Cluster]) -> str | None:
    """The rest of the sentence, as the task; None if it is empty. Raises `Refusal`."""
    text, at = "", 0
    for cluster in used:
        start = cluster.start
        if sentence.text(start - 1) == "for" and sentence.match("<reminder>", start - 2):
            start -= 1
        text = _joined(text, sentence.source[at : sentence.tokens[start].start])
        at = sentence.tokens[cluster.end - 1].end
    text = _joined(text, sentence.source[at:])
    return _checked(_polished(text))


def _joined(before: str, after: str) -> str:
    """The text on both sides of a timing, without the marks that separated it."""
    first_part, right = before.rstrip(), after.lstrip()
    if not right.strip(_MARKS + ".!?)"):
        first_part = first_part.rstrip(_MARKS)
    if not first_part:
        return right.lstrip(_MARKS + ".!?)")
    if first_part[-1] + right[:1] in {"()", "[]"}:
        first_part, right = first_part[:-1].rstrip(), right[1:].lstrip()
    if not right or not first_part:
        return first_part or right
    if first_part[-1] in ".!?" and not right.strip(".!? "):
        return first_part
    if first_part[-1] in ",;:-" and right[0] in ",;:.-!?":
        first_part = first_part.rstrip(_MARKS)
    return f"{first_part}{right}" if right[0] in ",.;:!?)…" else f"{first_part} {right}"


def _polished(text: str) -> str:
    """The task without greetings, requests and thanks, and without the end mark of a lone sentence."""
    text, polite = text.strip().strip(_MARKS), False
    while True:
        shorter = _THANKS.sub("", _GREETING.sub("", text, count=1))
        if _ASKING.match(f"{shorter} "):
            shorter, polite = _ASKING.sub("", f"{shorter} ", count=1), True
        shorter = _LINK.sub("", shorter).strip().strip(_MARKS)
        if shorter == text:
            break
        text = shorter
    if polite:
        text = text.rstrip("?").rstrip()
    return text if re.search(r"[.!?]\s|\.\.$", text) else text.rstrip(".!")


def _checked(text: str) -> str | None:
    """The text, where it is a task; None where it is empty or polite. Raises `Refusal` for anything else."""
    words = re.findall(r"[\w']+", text.lower())
    if set(words) <= _GREETINGS:
        return None
    if all(word in _NO_TASK or re.fullmatch(r"\d+(?:st|nd|rd|th)?|\w", word) for word in words):
        raise unknown(
            f"{text!r} is not understood beside the timing.",
            "Write only the timing, or add what is to be done.",
        )
    if (words[0] in _PREPOSITIONS and len(words) <= 4) or (words[0] in _CONDITIONS and len(words) <= 5):
        raise unknown(
            f"{text!r} is not a task by itself.",
            "Say what is to be done, such as 'check my mail', and when.",
        )
    return text
