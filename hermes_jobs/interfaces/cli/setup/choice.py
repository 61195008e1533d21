"""The model that `setup` connects: providers found on this machine, its settings, and writing them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec.structs import replace

from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.kernel.streams.usage import Usage
from hermes_jobs.llm.catalogue import Offered, listing
from hermes_jobs.llm.dialect import OPENAI_URL
from hermes_jobs.llm.price import FREE, Price
from hermes_jobs.llm.price_list import PriceList
from hermes_jobs.llm.providers import PROVIDERS, Provider, ProviderName
from hermes_jobs.settings import Secrets, Settings
from hermes_jobs.system.clock import SystemClock

SECONDS = 1.0  # a slower server of this machine is busy


def found_providers(secrets: Secrets) -> dict[ProviderName, str]:
    """Each provider that can be used at once, with its key or server."""
    keys: dict[ProviderName, str] = {}
    for entry in PROVIDERS.values():
        key = next((name for name in entry.keys if secrets.get(name)), None)
        if entry.needs_key and key is not None:
            keys[entry.name] = f"{key} is set"
    local = [entry for entry in PROVIDERS.values() if entry.local]
    with ThreadPoolExecutor(len(local)) as pool:
        for server, text in zip(local, pool.map(_served, local), strict=True):
            if text is not None:
                keys[server.name] = text
    return keys


def _served(provider: Provider) -> str | None:
    """The server at that provider's usual local address; None: no such API."""
    assert provider.base_url is not None
    listed = listing(provider.base_url, None, seconds=SECONDS)
    if listed.trouble not in {None, "auth"}:
        return None
    models = f", {len(listed.models)} models" if len(listed.models) != 1 else f" with {listed.models[0].name}"
    return f"listens at {provider.base_url}{models}"


MAIN_KEY = "OPENAI_API_KEY"
MODEL_SETTINGS = (
    "HERMES_JOBS_MODEL",
    "HERMES_JOBS_MODEL__MODEL",
    "HERMES_JOBS_MODEL__PROVIDER",
    "HERMES_JOBS_MODEL__BASE_URL",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
)
"""Variables that say what `setup` is to say, and win over what it writes."""


class ModelSetup(msgspec.Struct, frozen=True, kw_only=True):
    """A model at a provider. `base_url` None: the provider's own; `price`: as the endpoint publishes it;
    `key_is_set`: the key need not be written.
    """

    provider: Provider
    base_url: str | None = None
    model: str = ""
    window: int | None = None
    price: Price | None = None
    key: str = ""
    secret: str | None = None
    key_is_set: bool = False

    def __repr__(self) -> str:
        return f"Wanted({self.provider.name}, {self.model})"

    @property
    def endpoint_address(self) -> str:
        """The address of the endpoint."""
        return self.base_url or self.provider.base_url or OPENAI_URL

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Variables that may hold the key: the provider's own, and OpenAI's for a given address."""
        shared = (MAIN_KEY,) if self.base_url is not None and self.provider.api == "openai" else ()
        return tuple(dict.fromkeys((*self.provider.keys, *shared)))

    def with_key(self, name: str, secret: str, *, is_set: bool = False) -> ModelSetup:
        """With that key."""
        return replace(self, key=name, secret=secret, key_is_set=is_set)

    def at(self, base_url: str) -> ModelSetup:
        """At another address."""
        return replace(self, base_url=base_url)

    def with_model(self, model: str, offered: Offered | None) -> ModelSetup:
        """With that model, and what the endpoint lists of it."""
        known = offered or Offered(model)
        return replace(self, model=model, window=known.window, price=known.price)

    @property
    def price_to_save(self) -> Price | None:
        """The price to write: none for a model on this machine, and the published one where the maintained
        list has none; None where nothing is to be written.
        """
        if self.provider.local:
            return FREE
        listed = PriceList(self.endpoint_address, SystemClock()).cost_usd(self.model, Usage(1))
        return self.price if listed is None else None


def settings_with(context: CliContext, setup: ModelSetup) -> Settings:
    """The settings with this choice."""
    from hermes_jobs.settings import load

    environ = {name: value for name, value in context.environ.items() if name not in MODEL_SETTINGS}
    environ["HERMES_JOBS_MODEL"] = setup.model
    environ["HERMES_JOBS_MODEL__PROVIDER"] = setup.provider.name
    environ["HERMES_JOBS_MODEL__BASE_URL"] = setup.base_url or "null"
    if setup.secret:
        environ[setup.key] = setup.secret
    return load(environ)


def save(context: CliContext, setup: ModelSetup, say: Callable[[str], None]) -> None:
    """Write the key into `.env` and the rest into `config.yaml`. Raises `Misconfigured`, nothing written."""
    from hermes_jobs.settings import set_up

    settings = context.settings
    paths = settings.paths
    values = {"model.provider": setup.provider.name, "model.model": setup.model}
    if setup.base_url is not None:
        values["model.base_url"] = setup.base_url
    elif settings.origins["model.base_url"] == paths.config.name:
        values["model.base_url"] = "null"
    price = setup.price_to_save
    if price is not None and setup.model not in settings.models.prices:
        values[f"models.prices.{setup.model}"] = "0" if price == FREE else _written(price)
        if price != FREE:
            amounts = f"${price.input:g} in, ${price.output:g} out"
            say(f"The endpoint's price is used: {amounts} per million tokens.")
    secrets = {setup.key: setup.secret} if setup.secret and not setup.key_is_set else {}
    set_up(paths.home, values, secrets)
    say("")
    say(f"Written: {paths.config}" + (f" and the key to {paths.env_file} (mode 600)" if secrets else ""))
    if setup.key_is_set and context.environ.get(setup.key):
        say(f"{setup.key} is only in this environment. Workers and schedules need it in theirs, or in .env.")
    _warn_of_others(context, setup, say)


def _written(price: Price) -> str:
    return msgspec.json.encode(
        {name: value for name, value in msgspec.to_builtins(price).items() if value is not None}
    ).decode()


def print_next_steps(context: CliContext, setup: ModelSetup, say: Callable[[str], None]) -> None:
    """Print the next steps, unless variables override the written settings."""
    from hermes_jobs.settings import load

    now = load(context.environ).main_model
    if (now.provider, now.model) == (setup.provider.name, setup.model):
        say('Next: `hermes-jobs chat` to talk with it, `hermes-jobs send "…"` to ask once,')
        say("`hermes-jobs up` for schedules, `hermes-jobs doctor --live` to try it again.")


def _warn_of_others(context: CliContext, setup: ModelSetup, say: Callable[[str], None]) -> None:
    """Warn about variables that override the written settings."""
    said = {name: context.environ.get(name, "").strip() for name in MODEL_SETTINGS}
    winning = [name for name, value in said.items() if value and value.rstrip("/") != setup.base_url]
    if winning:
        say(f"The environment overrides the saved settings; unset there: {', '.join(winning)}.")
