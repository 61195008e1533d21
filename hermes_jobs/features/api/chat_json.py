"""The objects of OpenAI's Chat Completions."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from hermes_jobs.features.api.asking import WaitingCall
from hermes_jobs.kernel.views.turn_json import UsageJson


class ChatUsage(msgspec.Struct, frozen=True, kw_only=True):
    """The tokens of all model calls of the turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: dict[str, int]
    completion_tokens_details: dict[str, int]


class ChatMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer, or a part of one."""

    role: str | None = None
    content: str | None = None


class ChatChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The only choice: whole (`message`), or a part of it (`delta`)."""

    index: int = 0
    finish_reason: str | None = None
    message: ChatMessage | UnsetType = UNSET
    delta: ChatMessage | UnsetType = UNSET


class HermesPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an answer says besides: its turn and session, what waits for a person, what was `answered`, and
    which `call` was made."""

    turn: str = ""
    session: str = ""
    status: str = ""
    cost_usd: float | None = None
    waiting: tuple[WaitingCall, ...] = ()
    answered: str = ""
    tool: str = ""
    call: str = ""
    ok: bool | None = None


class ChatCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, or (`object` `chat.completion.chunk`) a part of one."""

    id: str
    object: str
    created: int
    model: str
    choices: tuple[ChatChoice, ...]
    usage: ChatUsage | UnsetType | None = UNSET
    hermes: HermesPart | UnsetType = UNSET


def usage_of(usage: UsageJson) -> ChatUsage:
    """The usage in OpenAI's form."""
    return ChatUsage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        prompt_tokens_details={"cached_tokens": usage.cache_read_tokens},
        completion_tokens_details={"reasoning_tokens": usage.reasoning_tokens},
    )
