"""Distinguishes requests for a schedule from sentences about times and schedules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schedules.phrases.outcome import not_a_schedule
from schedules.phrases.scan import Cluster
from schedules.phrases.tokens import Sentence
from schedules.phrases.vocabulary import word_set

_POLITE = word_set("please hi hey hello hermes ok okay so well and")
_QUESTION = re.compile(
    r"(?:how (?:do|can|could|would|should|does|to|is|are|often|many times)|why|when|who|whose|where"
    r"|is|are|was|were|am|do (?:you|i|we|they)|does|did|has|have|had|should|shall|may|might|what if"
    r"|what (?:does|do|is meant|time|happens|happened)|can i|could i|would it|will it)\b"
)
_CONDITION = re.compile(
    r"(?:if|when|whenever|unless|as soon as|after|before|in case|provided|while|until|once(?! tomorrow))\b"
)
_STATEMENT = re.compile(
    r"(?:it|there|this|that)(?:'s|'ll| is| was| will| has| runs| happens)\b(?! a reminder)"
    r"|(?:i|we|he|she|they|you)(?:'m|'re|'ve|'d|'ll|'s)? \w+"
)
_WISH = re.compile(
    r"(?:i|we)(?:'d| would)? (?:want|need|like|love|wish|must|have to|should)\b"
    r"|you (?:should|could|can|must|have to|need to)\b"
)
_NEGATED = re.compile(
    r"(?:don't|do not|dont|never) (?!forget|let me forget|miss)|no longer\b|(?:stop|quit|cease) \w+ing\b"
)
_CHANGE = re.compile(
    r"(?:cancel|remove|delete|pause|disable|unschedule|resume|edit|change|move|reschedule|postpone|show|list)"
    r" (?:(?:the|my|that|this|all|our) )?(?:\w+ ){0,2}"
    r"(?:schedules?|reminders?|cron ?jobs?|jobs?|alarms?|timers?)\b"
    r"|(?:make|change|move|shift|switch|set|push|delay|postpone|reschedule)"
    r" (?:it|this|that|them|the time)\b"
)
_SPOKEN_OF = word_set(
    "phrase phrases expression expressions wording saying says said say called named titled mean means "
    "meant meaning define explain translate parse convert interpret spell pronounce cron crontab syntax "
    "what what's"
)
"""Words right before a timing that the sentence is about: `explain every day at 9`."""

_TEXTS = word_set("word words text string sentence term title line name")
"""Such words too, in a request about a text (`_ON_TEXTS`)."""

_ON_TEXTS = re.compile(r"(?:explain|define|translate|parse|convert|interpret|spell|pronounce|what)\b")
_MEANS = re.compile(r",? ?(?:mean|means|meant)\b")
_BEHIND = re.compile(
    r",? ?(?:(?:really |actually |exactly )?(?:mean|means|meant|stands? for|translates?)"
    r"|is|was|works?|would be|as an?|as cron|(?:in|to|into) cron|in crontab|in words|in unix"
    r"|(?:in|to|into) (?:german|french|spanish|english|italian))\b"
)
"""What follows a timing that the sentence is about."""


EXAMPLE = "Say what to do: 'Check my mail every day at 9'."


def check_asks(sentence: Sentence, used: Sequence[Cluster]) -> None:
    """Raise `Refusal` for a sentence that does not request a task at that time."""
    words = _plain(sentence)
    if _NEGATED.match(words):
        proposal = "Say what to do; `hermes-jobs schedule pause` and `remove` stop one."
        raise not_a_schedule("It says what not to do.", proposal)
    if _CHANGE.match(words):
        proposal = "See `hermes-jobs schedule --help` for how to change one."
        raise not_a_schedule("It is about a schedule that exists.", proposal)
    has_question = bool(used) and any(sentence.text(at) == "?" for at in range(used[0].start))
    if _QUESTION.match(words) and not has_question:
        raise not_a_schedule("It is a question about a time.", EXAMPLE)
    if _CONDITION.match(words) and used and used[0].start > 0:
        proposal = "Say when by the clock: 'every day at 9'."
        raise not_a_schedule("It waits for something other than the clock.", proposal)
    if _STATEMENT.match(words) and not _WISH.match(words):
        raise not_a_schedule("It states something instead of asking for it.", EXAMPLE)
    if any(_is_subject(sentence, cluster, words) for cluster in used):
        raise not_a_schedule("It speaks of a timing instead of asking for one.", "Say what to do, and when.")


def _is_subject(sentence: Sentence, cluster: Cluster, words: str) -> bool:
    """Whether the sentence is about the timing."""
    before = next((at for at in range(cluster.start - 1, -1, -1) if sentence.kind(at) == "word"), -1)
    after = sentence.source[sentence.tokens[cluster.end - 1].end :].lower().lstrip()
    return (
        sentence.text(before) in _SPOKEN_OF
        or (sentence.text(before) in _TEXTS and _ON_TEXTS.match(words) is not None)
        or _MEANS.match(after) is not None
        or (cluster.start > 0 and _BEHIND.match(after) is not None)
    )


def _plain(sentence: Sentence) -> str:
    """The words from the first that is not polite, in lower case."""
    words = [token.text for token in sentence.tokens if token.kind != "mark"]
    begin = next((at for at, word in enumerate(words) if word not in _POLITE), len(words))
    return " ".join(words[begin:])
