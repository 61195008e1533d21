"""Differences between Chat Completions endpoints: payload fields to send back, and reasoning effort.

One row per family, selected by the endpoint's host, else by the model's name. An unknown endpoint gets its
own payload back, in the field in which it came.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

Json = Mapping[str, Any]
Effort = Literal["none", "low", "medium", "high", "max"]
Binding = Literal["dialect", "model"]

_NO_THINKING: Json = {"thinking": {"type": "disabled"}}
_THINKING: Json = {"thinking": {"type": "enabled"}}


def _efforts(**words: str) -> dict[str, Json]:
    """The five efforts as values of `reasoning_effort`; `words` are the endpoint's names that differ."""
    names = ("none", "low", "medium", "high", "max")
    return {effort: {"reasoning_effort": words.get(effort, effort)} for effort in names}


CONTENT_PARTS = "content_parts"
"""The payload field for a message's content as parts, which replace its text."""


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """One family of endpoints.

    `hosts`: the endpoint's host, or its suffix. `models`: a pattern for names of models with the same needs
    at any host. `fields` and `call_fields` are the fields sent back with a message and with each of its tool
    calls; `everywhere`: also with messages without calls. `binding`: whether only the model that wrote them
    understands them, or all models of the family. `filler` and `call_filler` replace missing fields of a
    message with calls, as of another model's message, for the models in `fills`. `always`: parameters of
    every request. `efforts`: parameters for reasoning effort, for the models in `efforts_of`. `call_ids`: the
    accepted form of call ids. `closes_rounds`: a user message must not follow tool results directly.
    `schema_beside_tools`: a schema constrains answers only, and tools may be called under it.
    `streams_usage`: usage is requested of a stream; else the parameter is refused, and usage comes anyway.
    """

    name: str
    hosts: tuple[str, ...] = ()
    models: str = ""
    fields: tuple[str, ...] = ()
    call_fields: tuple[str, ...] = ()
    everywhere: bool = False
    binding: Binding = "dialect"
    fills: str = ""
    filler: Json = {}
    call_filler: Json = {}
    always: Json = {}
    efforts: Mapping[str, Json] = {}
    efforts_of: str = ""
    call_ids: str = ".+"
    closes_rounds: bool = False
    schema_beside_tools: bool = False
    streams_usage: bool = True

    def effort(self, effort: Effort, model: str) -> Json:
        """The parameters for that effort; none if the model is not known to support any."""
        return self.efforts.get(effort, {}) if re.search(self.efforts_of, model.lower()) else {}

    def wants_filler(self, model: str) -> bool:
        """Whether the model refuses calls without its own payload."""
        return bool(self.fills) and re.search(self.fills, model.lower()) is not None


DEFAULT_FAMILY = Family(
    name="chat",
    fields=("reasoning_content", "reasoning", "reasoning_details", "extra_content"),
    call_fields=("extra_content", "provider_specific_fields"),
    binding="model",
    efforts=_efforts(max="high"),
)
"""vLLM, Ollama, llama.cpp, LM Studio, Together, Fireworks and others: payloads are sent back as they came."""

FAMILIES = (
    # https://platform.openai.com/docs/guides/reasoning: Chat Completions never shows the reasoning.
    Family(
        name="openai",
        hosts=("api.openai.com", ".openai.azure.com", ".services.ai.azure.com"),
        efforts=_efforts(max="xhigh"),
        efforts_of=r"^(?:o\d|gpt-[5-9]|codex)",
        call_ids=r".{1,40}",
        schema_beside_tools=True,
    ),
    # https://api-docs.deepseek.com/guides/thinking_mode: turns with tool calls carry their reasoning_content
    # in all later requests, others may; it must not be empty (NousResearch/hermes-agent#17341). The efforts
    # are low, high and max; medium is read as high.
    Family(
        name="deepseek",
        hosts=("api.deepseek.com",),
        models=r"deepseek",
        fields=("reasoning_content",),
        everywhere=True,
        fills=r".",
        filler={"reasoning_content": " "},
        efforts={
            "none": _NO_THINKING,
            "low": {**_THINKING, "reasoning_effort": "low"},
            **{effort: {**_THINKING, "reasoning_effort": "high"} for effort in ("medium", "high")},
            "max": {**_THINKING, "reasoning_effort": "max"},
        },
    ),
    # https://ai.google.dev/gemini-api/docs/thought-signatures: from Gemini 3 on the first call of a message
    # carries its signature; the placeholder is the documented one for calls that Gemini did not make.
    Family(
        name="gemini",
        hosts=("generativelanguage.googleapis.com", "aiplatform.googleapis.com"),
        models=r"^(?:models/)?gemini-",
        fields=("extra_content",),
        call_fields=("extra_content",),
        fills=r"gemini-(?:[3-9]|\d\d|[a-z-]*latest)",
        call_filler={"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}},
        efforts=_efforts(max="high"),
    ),
    # https://openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks
    Family(
        name="openrouter",
        hosts=("openrouter.ai",),
        fields=("reasoning_details", "reasoning"),
        binding="model",
        fills=r"deepseek|kimi",
        filler={"reasoning": " "},
        efforts={
            effort: {"reasoning": {"effort": "xhigh" if effort == "max" else effort}}
            for effort in ("none", "low", "medium", "high", "max")
        },
    ),
    # https://platform.moonshot.ai/docs/guide/use-kimi-k2-thinking-model: all reasoning_content stays in the
    # context; "thinking is enabled but reasoning_content is missing in assistant tool call message".
    Family(
        name="moonshot",
        hosts=("api.moonshot.ai", "api.moonshot.cn", "api.kimi.com"),
        models=r"kimi",
        fields=("reasoning_content",),
        everywhere=True,
        fills=r"thinking|k2\.[5-9]|k[3-9]",
        filler={"reasoning_content": " "},
        efforts={"none": _NO_THINKING, **dict.fromkeys(("low", "medium", "high", "max"), _THINKING)},
    ),
    # https://docs.z.ai/guides/capabilities/thinking-mode: interleaved thinking is sent back unmodified.
    Family(
        name="zai",
        hosts=("api.z.ai", "open.bigmodel.cn"),
        fields=("reasoning_content",),
        everywhere=True,
        efforts={"none": _NO_THINKING, **dict.fromkeys(("low", "medium", "high", "max"), _THINKING)},
    ),
    # https://platform.minimax.io/docs/guides/text-m2-function-call: `reasoning_split` gives the thinking in
    # reasoning_details, which are sent back complete.
    Family(
        name="minimax",
        hosts=("api.minimax.io", "api.minimaxi.com"),
        fields=("reasoning_details",),
        everywhere=True,
        always={"reasoning_split": True},
    ),
    # https://www.alibabacloud.com/help/en/model-studio/deep-thinking: reasoning_content is not sent back.
    Family(
        name="qwen",
        hosts=("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"),
        efforts={
            "none": {"enable_thinking": False},
            **{effort: {"enable_thinking": True} for effort in ("low", "medium", "high", "max")},
        },
    ),
    # https://docs.mistral.ai/capabilities/reasoning: thinking is a part of the content, sent back as it
    # came, as in its SDK's example; fields that it does not know are refused, `stream_options` too.
    # https://docs.mistral.ai/resources/cookbooks/mistral-reasoning
    # Ids and the order of roles: https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py
    Family(
        name="mistral",
        hosts=("api.mistral.ai",),
        models=r"mistral|devstral|codestral|magistral|ministral",
        fields=(CONTENT_PARTS,),
        everywhere=True,
        streams_usage=False,
        efforts=_efforts(low="high", medium="high", max="high"),
        call_ids=r"[a-zA-Z0-9]{9}",
        closes_rounds=True,
    ),
    # https://docs.x.ai/developers/model-capabilities/text/best-practices: none to high; Chat Completions has
    # no field for its reasoning, so the Responses API is the default (`Provider.responses`).
    Family(
        name="xai",
        hosts=("api.x.ai",),
        efforts=_efforts(max="high"),
        efforts_of=r"mini|multi-agent|grok-4\.[3-9]|grok-[5-9]|grok-latest",
    ),
    # https://console.groq.com/docs/reasoning: unknown fields of a message are refused.
    Family(name="groq", hosts=("api.groq.com",), efforts=_efforts(max="high"), efforts_of=r"gpt-oss|qwen"),
)


def family_of(base_url: str, model: str, provider: str = "auto") -> Family:
    """The family of a model at an endpoint; `provider` is the configured one.

    If only the model's name selects it, the host is unknown: payloads are sent back in the field in which
    they came, and efforts in the most common form.
    """
    host = urlsplit(base_url).hostname or ""
    for family in FAMILIES:
        if family.name == _BY_PROVIDER.get(provider, provider) or any(
            _matches_host(host, suffix) for suffix in family.hosts
        ):
            return family
    for family in FAMILIES:
        if family.models and re.search(family.models, model.lower()):
            return served_elsewhere(family)
    return DEFAULT_FAMILY


_BY_PROVIDER = {"azure": "openai"}


def served_elsewhere(family: Family) -> Family:
    """The family at a host of another provider."""
    return msgspec.structs.replace(
        DEFAULT_FAMILY,
        name=family.name,
        everywhere=family.everywhere,
        fields=(*DEFAULT_FAMILY.fields, *(name for name in family.fields if name == CONTENT_PARTS)),
        fills=family.fills,
        filler=family.filler,
        call_filler=family.call_filler,
        call_ids=family.call_ids,
        closes_rounds=family.closes_rounds,
    )


def with_filler(family: Family, refusal: str) -> Family:
    """The family, with a filler for the fields that a refusal calls missing beside another model's calls."""
    message = refusal.lower()
    name = next((name for wording, name in _MISSING if re.search(wording, message)), None)
    return family if name is None else filled_as(family, name)


def filled_as(family: Family, name: str) -> Family:
    """The family with the filler of the family of that name."""
    filling = _named(name)
    return msgspec.structs.replace(family, fills=".", filler=filling.filler, call_filler=filling.call_filler)


def with_short_ids(family: Family) -> Family:
    """The family with call ids in Mistral's form."""
    return msgspec.structs.replace(family, call_ids=_named("mistral").call_ids)


def _named(name: str) -> Family:
    return next(entry for entry in FAMILIES if entry.name == name)


_MISSING = (
    (r"missing a? ?thought[_ ]signature|thought[_ ]signature (?:is|was) (?:missing|required)", "gemini"),
    (r"reasoning_content.{0,60}(?:passed back|missing|required)", "deepseek"),
)
"""Gemini; DeepSeek and Moonshot."""


def with_id_and_role_rules(family: Family, refusal: str) -> Family:
    """The family, adapted to a refusal about ids or the order of roles."""
    message = refusal.lower()
    if "length of 9" in message:
        return with_short_ids(family)
    if re.search(r"unexpected role .user. after role .tool.", message):
        return msgspec.structs.replace(family, closes_rounds=True)
    return family


def without_fields(family: Family) -> Family:
    """The family at an endpoint that refuses unknown fields."""
    return msgspec.structs.replace(family, fields=(), call_fields=(), filler={}, call_filler={})


def host_and_port(base_url: str) -> str:
    """The endpoint's host and port, without secrets of the URL."""
    return urlsplit(base_url).netloc.rpartition("@")[2]


def _matches_host(host: str, suffix: str) -> bool:
    return host == suffix or host.endswith(suffix if suffix.startswith(".") else f"-{suffix}")
