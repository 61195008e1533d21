"""The web search step of `setup`: a provider, its key or address, a test; then it is written."""

from __future__ import annotations

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.features.web.doctor import missing_of, try_search
from hermes_jobs.features.web.search.query import SearchFailed
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.setup.questions import Questions
from hermes_jobs.interfaces.cli.setup.steps import MARKS, TRIES, UNCHANGED, unknown_name
from hermes_jobs.settings import Settings
from hermes_jobs.settings.search_providers import (
    ALSO_CALLED,
    SEARCH_PROVIDERS,
    SearchProvider,
    search_provider_named,
)

NONE = "none"
PROVIDER_KEY = "web.search.provider"
URL_KEY = "web.search.base_url"
LOCAL_SEARXNG = "http://127.0.0.1:8888"


class WebSearchSetup:
    """One run of this step. Without a `name` the user chooses; the default is none."""

    def __init__(self, context: CliContext, questions: Questions) -> None:
        self._context = context
        self._ask = questions

    def run(self, name: str | None, url: str | None) -> None:
        """Choose, test and write. Raises usage errors, and `Rejected` with the problem."""
        provider = _named(name) if name is not None else self._chosen()
        if provider is None:
            self._turn_off()
            return
        address = self._address(provider, url)
        secret = ""
        for remaining in reversed(range(TRIES)):
            secret = secret or self._secret(provider)
            try:
                self._try(provider, address, secret)
                break
            except SearchFailed as failed:
                if failed.kind != "auth" or not self._ask.can_ask or provider.key is None or not remaining:
                    raise _rejected(failed) from failed
                self._ask.print_line(failed.message)
                secret = self._typed(provider)
        self._save(provider, address, secret)

    def _chosen(self) -> SearchProvider | None:
        secrets = self._context.settings.secrets
        providers = [entry for entry in SEARCH_PROVIDERS.values() if entry.key and secrets.get(entry.key)]
        self._ask.print_line("")
        self._ask.print_line("Enable web search? Pages can be fetched by their address either way.")
        options = [
            (NONE, "no web search"),
            *((entry.name, _titled(entry)) for entry in SEARCH_PROVIDERS.values()),
        ]
        now = self._context.settings.web.search.provider
        default = now or (providers[0].name if providers else NONE)
        while True:
            try:
                return _named(self._ask.choose("Web search (number or name)", options, default))
            except click.BadParameter as error:
                self._ask.print_line(error.message)

    def _address(self, provider: SearchProvider, url: str | None) -> str | None:
        if url is None and provider.name == "searxng":
            self._ask.require("the address of SearXNG", "--search-url URL")
            url = self._ask.text("Address of the SearXNG instance", LOCAL_SEARXNG)
        if url is not None and not url.startswith(("http://", "https://")):
            raise click.BadParameter(
                f"{url!r} is not an address such as {LOCAL_SEARXNG}.", param_hint="--search-url"
            )
        return url.rstrip("/") if url is not None else None

    def _secret(self, provider: SearchProvider) -> str:
        """The typed key; empty if none is required, or it is set already."""
        if provider.key is None:
            return ""
        if self._context.settings.secrets.get(provider.key):
            self._ask.print_line(f"The key is the one in {provider.key}.")
            return ""
        if not self._ask.can_ask:
            raise Rejected(
                f"{provider.key} is not set, and {provider.title} needs it.",
                kind="auth",
                hint=f"Set it in the environment or in {self._context.settings.paths.env_file} (mode 600). "
                f"Keys: {provider.keys_at}",
            )
        self._ask.print_line(f"Get a key of {provider.title} at {provider.keys_at}")
        return self._typed(provider)

    def _typed(self, provider: SearchProvider) -> str:
        while True:
            secret = self._ask.secret(f"{provider.key} (not shown)")
            if secret.isascii() and secret.isprintable() and " " not in secret:
                return secret
            self._ask.print_line("A key does not contain such characters. Try again.")

    def _try(self, provider: SearchProvider, address: str | None, secret: str) -> None:
        """One search. Raises `SearchFailed`."""
        settings = self._settings_with(provider, address, secret)
        missing = missing_of(settings, provider.name, self._context.environ)
        if missing is not None:
            raise missing
        self._ask.print_line(f"Trying {provider.title} with one search…")
        self._ask.print_line(f"  {MARKS['ok']}  {try_search(settings, provider.name, self._context.environ)}")

    def _settings_with(self, provider: SearchProvider, address: str | None, secret: str) -> Settings:
        from hermes_jobs.settings import load

        environ = dict(self._context.environ)
        environ[_variable(PROVIDER_KEY)] = provider.name
        environ[_variable(URL_KEY)] = address or "null"
        if secret and provider.key is not None:
            environ[provider.key] = secret
        return load(environ)

    def _save(self, provider: SearchProvider, address: str | None, secret: str) -> None:
        from hermes_jobs.settings import set_up

        settings = self._context.settings
        paths = settings.paths
        values = {PROVIDER_KEY: str(provider.name)}
        if address is not None or settings.origins[URL_KEY] == paths.config.name:
            values[URL_KEY] = address or "null"
        secrets = {provider.key: secret} if secret and provider.key is not None else {}
        set_up(paths.home, values, secrets)
        self._ask.print_line(
            f"Written: {paths.config}" + (f" and the key to {paths.env_file} (mode 600)" if secrets else "")
        )
        if provider.key and not secrets and self._context.environ.get(provider.key):
            self._ask.print_line(
                f"{provider.key} is only in this environment. Workers need it in theirs, or in .env."
            )
        self._warn_of_variables()

    def _turn_off(self) -> None:
        from hermes_jobs.settings import unset_value

        _, was_set = unset_value(self._context.settings.paths.home, PROVIDER_KEY)
        if was_set:
            self._ask.print_line("Web search is off.")
        self._warn_of_variables()

    def _warn_of_variables(self) -> None:
        winning = [
            _variable(key) for key in (PROVIDER_KEY, URL_KEY) if self._context.environ.get(_variable(key))
        ]
        if winning:
            self._ask.print_line(
                f"The environment overrides the saved settings; unset there: {', '.join(winning)}."
            )


def _named(name: str) -> SearchProvider | None:
    """The provider; None for `none`. Raises a usage error."""
    if name.strip().lower() == NONE:
        return None
    provider = search_provider_named(name)
    if provider is not None:
        return provider
    raise unknown_name("web search", name, [*SEARCH_PROVIDERS, NONE], ALSO_CALLED, option="--search")


def _titled(provider: SearchProvider) -> str:
    if provider.key:
        return f"{provider.title}, with a key ({provider.key})"
    return f"{provider.title}, {'an instance of your own' if provider.name == 'searxng' else 'without a key'}"


def _rejected(failed: SearchFailed) -> Rejected:
    kind = "auth" if failed.kind == "auth" else "models"
    hint = f"{failed.hint.rstrip('.')}. {UNCHANGED}" if failed.hint else UNCHANGED
    return Rejected(failed.message, kind=kind, hint=hint)


def _variable(key: str) -> str:
    return "HERMES_JOBS_" + key.replace(".", "__").upper()
