"""Selects a model's provider by the configuration, by the keys that are set, and by the model's name."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from hermes_jobs.llm.providers import (
    KEY_VARIABLES,
    PROVIDERS,
    Provider,
    ProviderName,
    provider_at,
    provider_named,
    provider_of_key,
    provider_of_model,
)
from hermes_jobs.settings.secrets import MAIN_KEY, Secrets
from hermes_jobs.settings.sections.models import DEFAULT_MODEL, REHEARSAL_MODEL, ModelSettings

SETUP = "Run `hermes-jobs setup`, or write it to .env in the home (mode 600)."
"""The hint for a missing key."""


class Choice(msgspec.Struct, frozen=True):
    """A model and its endpoint.

    `model` empty: none was named, and the provider has no default. `base_url` None is OpenAI's own. `key` is
    the variable of its secret, which may be unset.
    """

    model: str
    base_url: str | None = None
    key: str = MAIN_KEY
    provider: ProviderName = "openai"

    @property
    def rehearsal(self) -> bool:
        """Whether this is the rehearsal model."""
        return self.model == REHEARSAL_MODEL

    @property
    def at(self) -> Provider:
        """The provider's entry in the table of providers."""
        return PROVIDERS[self.provider]

    @property
    def is_at_provider(self) -> bool:
        """Whether it is called at the provider's own address."""
        return self.base_url is None or provider_at(self.base_url).name == self.provider

    @property
    def endpoint(self) -> tuple[str | None, str, ProviderName]:
        """The attributes that all models at the same endpoint with the same key share."""
        return self.base_url, self.key, self.provider


REHEARSAL = Choice(REHEARSAL_MODEL)


class ModelChooser(msgspec.Struct, frozen=True):
    """The inputs of a choice.

    `shared_url`: `model.base_url` comes from OPENAI_BASE_URL, which does not apply to another kind of API;
    `anthropic_url` is ANTHROPIC_BASE_URL.
    """

    model: ModelSettings
    secrets: Secrets
    shared_url: bool = False
    anthropic_url: str | None = None

    @property
    def nothing_named(self) -> bool:
        """Whether no model, provider, endpoint or key is set."""
        model = self.model
        named = model.model or model.base_url or self.anthropic_url or model.provider != "auto"
        return not named and not self._with_keys()

    def main(self, name: str | None, keys: Sequence[str] = ()) -> Choice:
        """The choice for the model of that name; None: the provider's default model.

        The first of `keys` with a secret precedes the provider's own key. A name may begin with its provider,
        as in `anthropic:claude-haiku-4-5`.
        """
        provider, prefixed = self._prefixed(name)
        if provider is not None:
            is_theirs = provider.name == self.model.provider or (
                provider.name == "openai" and self.shared_url
            )
            own = self.model.base_url if is_theirs else None
            return self._choice(provider, own, prefixed, keys)
        if self.model.provider != "auto":
            return self._choice(PROVIDERS[self.model.provider], self.model.base_url, name, keys)
        if self.model.base_url is not None:
            return self.elsewhere(name, self.model.base_url, keys)
        return self._choice(self._by_name_and_keys(name), None, name, keys)

    def elsewhere(self, name: str | None, base_url: str, keys: Sequence[str] = ()) -> Choice:
        """The choice for the model of that name at an endpoint whose address selects the provider."""
        return self._choice(provider_at(base_url), base_url, name, keys)

    def _choice(self, at: Provider, url: str | None, name: str | None, keys: Sequence[str]) -> Choice:
        """A provider's key is sent to the provider's host, or to the address configured with the provider.

        The address of OPENAI_BASE_URL is that of OPENAI_API_KEY alone: another provider whose own key is set
        is called at its own address.
        """
        is_shared = self.shared_url and url is not None and url == self.model.base_url
        own_keys = at.keys
        if at.api == "anthropic":
            url = (None if is_shared else url) or self.anthropic_url
            url = (url or at.base_url or "").rstrip("/").removesuffix("/v1")
        elif is_shared and url is not None and provider_at(url) != at:
            if at.base_url is not None and self._has_key(at) and MAIN_KEY not in at.keys:
                url = at.base_url
            else:
                own_keys = (MAIN_KEY,)
        elif url is None and at.name != "openai":
            url = at.base_url
        if at.api == "openai":
            own_keys = self._with_main_key(at, url, own_keys)
        candidates = [*keys, *own_keys]
        unset = next(iter((*own_keys, *keys)), MAIN_KEY)
        key = next((candidate for candidate in candidates if self.secrets.get(candidate)), unset)
        return Choice(name or _usual_model(at), url, key, at.name)

    def _with_main_key(self, at: Provider, url: str | None, keys: tuple[str, ...]) -> tuple[str, ...]:
        """The keys, with OPENAI_API_KEY only where that one is for the address."""
        if url is not None and is_same_host(url, self.model.base_url):
            return (*keys, MAIN_KEY)
        is_for_another = self.shared_url or at.name == "custom"
        return tuple(key for key in keys if not (is_for_another and key == MAIN_KEY))

    def _prefixed(self, name: str | None) -> tuple[Provider | None, str]:
        """The provider prefix of a name. `mistral:7b` is a model of Ollama if that is the endpoint."""
        before, colon, after = (name or "").partition(":")
        provider = provider_named(before) if colon and after else None
        if provider is None or before != provider.name:
            return None, name or ""
        configured = self.model.provider
        serves_any = self.model.base_url is not None or (configured != "auto" and PROVIDERS[configured].local)
        if serves_any and provider.needs_key and not self._has_key(provider):
            return None, name or ""
        return provider, after

    def _by_name_and_keys(self, name: str | None) -> Provider:
        own = provider_of_model(name) if name else None
        keyed = self._with_keys()
        if own is not None and own in keyed:
            return own
        if name and "/" in name and PROVIDERS["openrouter"] in keyed:
            return PROVIDERS["openrouter"]
        if own is not None:
            return own
        if self.anthropic_url and PROVIDERS["openai"] not in keyed:
            return PROVIDERS["anthropic"]
        return next(iter(keyed), PROVIDERS["openai"])

    def _with_keys(self) -> list[Provider]:
        return [provider for provider in PROVIDERS.values() if provider.needs_key and self._has_key(provider)]

    def _has_key(self, provider: Provider) -> bool:
        return any(self.secrets.get(key) for key in provider.keys)


def is_same_host(url: str, other: str | None) -> bool:
    """Whether both addresses are of one host and port, so that a key for one is for the other, too."""
    return other is not None and urlsplit(url).netloc.lower() == urlsplit(other).netloc.lower()


def _usual_model(at: Provider) -> str:
    return at.default_model or (DEFAULT_MODEL if at.name == "custom" else "")


def missing_key(choice: Choice, secrets: Secrets) -> str | None:
    """The error message about the key of the choice; None if the key is usable. Contains no secret."""
    at, value = choice.at, secrets.get(choice.key)
    if choice.rehearsal:
        return None
    if value is None:
        if not at.needs_key:
            return None
        misplaced = next((name for name in secrets.names if _form(secrets.get(name)) == at.name), None)
        text = f"{choice.key} is not set, and {at.title} needs it for {choice.model or 'its models'}."
        return f"{text} {misplaced} holds what looks like a key of {at.title}." if misplaced else text
    provider = provider_of_key(value)
    if provider is None or not at.needs_key or provider.name == at.name or choice.key not in KEY_VARIABLES:
        return None
    shown = next(prefix for prefix in provider.key_prefixes if value.startswith(prefix))
    return (
        f"{choice.key} holds a key of {provider.title} ({shown}…), and {at.title} is asked for "
        f"{choice.model}: put it into {provider.keys[0]}, or set the key of {at.title}."
    )


def _form(value: str | None) -> str | None:
    provider = provider_of_key(value) if value else None
    return provider.name if provider else None
