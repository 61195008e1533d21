"""The steps of `setup`, in their order. Nothing is written before the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from difflib import get_close_matches
from urllib.parse import urlsplit

import click

from hermes_jobs.errors import Rejected
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.moments import utc_today
from hermes_jobs.interfaces.cli.setup.choice import MAIN_KEY, ModelSetup, found_providers, save, settings_with
from hermes_jobs.interfaces.cli.setup.questions import Questions
from hermes_jobs.llm.catalogue import Listing, listing
from hermes_jobs.llm.providers import (
    ALSO_CALLED,
    PROVIDERS,
    Provider,
    provider_at,
    provider_named,
    provider_of_key,
)
from hermes_jobs.llm.retirements import retirement_of
from hermes_jobs.settings import is_same_host

UNCHANGED = "Nothing was written."
TRIES = 3  # attempts to type a key or a model
SOON = timedelta(days=60)  # before its end a model is no default
MAX_LISTED = 20  # models listed by number
MARKS = {"ok": click.style("ok  ", fg="green"), "warn": click.style("warn", fg="yellow")}
FAIL = click.style("FAIL", fg="red")


class ModelDialog:
    """One run of `setup`."""

    def __init__(self, context: CliContext, questions: Questions) -> None:
        self._context = context
        self._ask = questions
        self._settings = context.settings
        self._has_typed_address = False

    def run(self, provider: str | None, model: str | None, base_url: str | None) -> ModelSetup:
        """Run the steps; returns the written settings.

        Raises usage errors, and `Rejected` with the problem.
        """
        chosen = self._provider(provider, base_url)
        if base_url is None and (variable := self._settings.url_variable(chosen)) is not None:
            name, base_url = variable
            chosen = chosen if chosen.api == "anthropic" else provider_at(base_url)
            self._ask.print_line(f"The address is the one in {name}: {base_url}")
        setup = ModelSetup(provider=chosen, base_url=self._address(chosen, base_url))
        setup = self._key(setup)
        setup, listing = self._offered(setup)
        setup = self._model(setup, listing, model)
        self._try(setup)
        save(self._context, setup, self._ask.print_line)
        return setup

    # --- which provider -------------------------------------------------------------------------

    def _provider(self, chosen_name: str | None, base_url: str | None) -> Provider:
        if chosen_name is not None:
            return _named(chosen_name)
        if base_url is not None:
            return provider_at(base_url)
        self._ask.require("the provider", "--provider NAME")
        self._ask.print_line("Looking for keys in the environment and for servers on this machine…")
        keys = found_providers(self._settings.secrets)
        first = [*keys, *(name for name in PROVIDERS if name not in keys)]
        options = [(name, _titled(PROVIDERS[name], keys.get(name, ""))) for name in first]
        default = first[0] if keys else None
        while True:
            try:
                return _named(self._ask.choose("Provider (number or name)", options, default))
            except click.BadParameter as error:
                self._ask.print_line(error.message)

    def _address(self, provider: Provider, address: str | None) -> str | None:
        """The address of the API; None for the provider's own."""
        if address is None and (provider.base_url is not None or provider.name == "openai"):
            return None
        if address is not None:
            return _as_address(address)
        self._ask.require("the address of the API", "--base-url URL")
        return self._typed_address(provider)

    def _typed_address(self, provider: Provider) -> str:
        hint = "https://RESOURCE.openai.azure.com/openai/v1" if provider.name == "azure" else "http://…/v1"
        self._has_typed_address = True
        while True:
            try:
                return _as_address(self._ask.text(f"Address of the API, such as {hint}"))
            except click.BadParameter as error:
                self._ask.print_line(error.message)

    # --- its key --------------------------------------------------------------------------------

    def _key(self, setup: ModelSetup) -> ModelSetup:
        """The choice with the existing key, else a typed one if required."""
        provider, secrets = setup.provider, self._settings.secrets
        shared = self._settings.url_variable(PROVIDERS["openai"])
        is_for_another = shared is not None and not is_same_host(setup.endpoint_address, shared[1])
        variable = next(
            (
                name
                for name in setup.key_variables
                if secrets.get(name) and not (is_for_another and name == MAIN_KEY)
            ),
            None,
        )
        if variable is not None:
            return self._known_key(setup, variable)
        misplaced = next(
            (name for name in secrets.names if _is_key_of(provider, secrets.get(name) or "")), None
        )
        if misplaced is not None and self._ask.can_ask:
            if self._ask.confirm(f"{misplaced} holds what looks like a key of {provider.title}. Use it?"):
                return setup.with_key(provider.keys[0], secrets.get(misplaced) or "")
        elif misplaced is not None:
            variable, file = provider.keys[0], self._settings.paths.env_file
            raise Rejected(
                f"{variable} is not set; {misplaced} holds what looks like a key of {provider.title}.",
                kind="auth",
                hint=f"Put it into {variable}, in the environment or in {file}.",
            )
        return self._typed_key(setup) if provider.needs_key else setup

    def _known_key(self, setup: ModelSetup, name: str) -> ModelSetup:
        chosen, value = setup.provider, self._settings.secrets.get(name) or ""
        provider = provider_of_key(value)
        if provider is not None and chosen.needs_key and provider.name != chosen.name:
            text = f"{name} holds a key of {provider.title}, not of {chosen.title}."
            if not self._ask.can_ask:
                raise Rejected(
                    text, kind="auth", hint=f"Put it into {provider.keys[0]}, or --provider {provider.name}."
                )
            self._ask.print_line(text)
            return self._typed_key(setup)
        self._ask.print_line(f"The key is the one in {name}.")
        return setup.with_key(name, value, is_set=True)

    def _typed_key(self, setup: ModelSetup) -> ModelSetup:
        chosen = setup.provider
        if not self._ask.can_ask:
            raise Rejected(
                f"{chosen.keys[0]} is not set, and {chosen.title} needs it.",
                kind="auth",
                hint=f"Set it in the environment or in {self._settings.paths.env_file} (mode 600). "
                f"Keys: {chosen.keys_at or chosen.docs}",
            )
        if chosen.keys_at:
            self._ask.print_line(f"Get a key of {chosen.title} at {chosen.keys_at}")
        for _ in range(TRIES):
            value = self._ask.secret(f"{chosen.keys[0]} (not shown)")
            provider = provider_of_key(value)
            if not (value.isascii() and value.isprintable()) or " " in value:
                self._ask.print_line("A key does not contain such characters. Try again.")
            elif provider is not None and chosen.needs_key and provider.name != chosen.name:
                self._ask.print_line(
                    f"That looks like a key of {provider.title}, not of {chosen.title}. Try again."
                )
            else:
                return setup.with_key(chosen.keys[0], value)
        raise Rejected("No usable key was given.", kind="auth", hint=UNCHANGED)

    # --- its models -----------------------------------------------------------------------------

    def _offered(self, setup: ModelSetup) -> tuple[ModelSetup, Listing]:
        """The models of the endpoint, requested again with another key or address if that helps.

        An endpoint without a list may work: the test will show it.
        """
        listing = self._listed(setup)
        for _ in range(TRIES):
            if listing.trouble in {None, "unlisted"} or not self._ask.can_ask:
                break
            if listing.trouble == "auth":
                self._ask.print_line(listing.problem)
                setup = self._typed_key(setup)
            elif listing.better_url is not None and self._ask.confirm(f"{listing.problem} Use that?"):
                setup = setup.at(listing.better_url)
            elif listing.trouble == "connection" and self._has_typed_address:
                self._ask.print_line(listing.problem)
                setup = setup.at(self._typed_address(setup.provider))
            else:
                break
            listing = self._listed(setup)
        if listing.trouble == "unlisted":
            self._ask.print_line(listing.problem)
        if listing.trouble in {None, "unlisted"}:
            return setup, listing
        kind = "auth" if listing.trouble == "auth" else "models"
        raise Rejected(listing.problem, kind=kind, hint=f"{listing.hint} {UNCHANGED}".strip())

    def _listed(self, setup: ModelSetup) -> Listing:
        self._ask.print_line(f"Asking {setup.endpoint_address} for its models…")
        return listing(setup.endpoint_address, setup.secret, setup.provider.api)

    def _model(self, setup: ModelSetup, listing: Listing, name: str | None) -> ModelSetup:
        if name is not None:
            return self._checked(setup, listing, name)
        default = setup.provider.usual_model(lasting_models(setup.provider, listing, utc_today()))
        if default is None and len(listing.models) == 1:
            default = listing.models[0].name
        if not self._ask.can_ask:
            if default is None:
                raise click.UsageError(_which(listing))
            return self._checked(setup, listing, default)
        for _ in range(TRIES):
            try:
                return self._checked(setup, listing, self._choose_model(listing, default))
            except click.BadParameter as error:
                self._ask.print_line(error.message)
        raise Rejected("No model was chosen.", kind="usage", hint=UNCHANGED)

    def _choose_model(self, listing: Listing, default: str | None) -> str:
        names = [offered.name for offered in listing.models]
        if not names:
            return self._ask.text("Model", default)
        choices = [*filter(None, [default]), *(name for name in names if name != default)][:MAX_LISTED]
        if len(names) > len(choices):
            self._ask.print_line(f"{len(names)} models; these are the first. You may enter any other name.")
        meanings = {
            offered.name: f"{offered.window:,} tokens" if offered.window else "" for offered in listing.models
        }
        return self._ask.choose(
            "Model (number or name)", [(n, meanings.get(n, "")) for n in choices], default
        )

    def _checked(self, setup: ModelSetup, listing: Listing, name: str) -> ModelSetup:
        model = listing.find(name)
        if model is None and listing.models:
            similar = listing.nearest(name)
            nearest = f" The nearest: {', '.join(similar)}." if similar else f" {_which(listing)}"
            raise click.BadParameter(
                f"{setup.endpoint_address} offers no model {name!r}.{nearest}", param_hint="--model"
            )
        return setup.with_model(name, model)

    # --- a try ----------------------------------------------------------------------------------

    def _try(self, setup: ModelSetup) -> None:
        """Test each ability with small calls. Raises `Rejected` if the model did not answer."""
        from hermes_jobs.bootstrap.api_options import caching_of
        from hermes_jobs.bootstrap.endpoints import ModelEndpoints
        from hermes_jobs.kernel.streams.context_windows import LearnedWindows
        from hermes_jobs.llm.price import OwnPrices
        from hermes_jobs.llm.trial import Trial
        from hermes_jobs.system.clock import SystemClock

        settings = settings_with(self._context, setup)
        choice = settings.main_model
        endpoints = ModelEndpoints(settings, SystemClock(), LearnedWindows)
        self._ask.print_line(f"Trying {choice.model} with three small calls…")
        models, price = endpoints.by_name, setup.price_to_save
        trial = Trial(
            models,
            choice.model,
            prices=OwnPrices({choice.model: price} if price else {}, models),
            caching=caching_of(settings, choice),
            window=setup.window or models.window_of(choice.model),
        )
        try:
            for verdict in trial.verdicts():
                message = settings.secrets.redact(verdict.message)
                if verdict.name == "call" and verdict.status == "fail":
                    kind = "auth" if verdict.kind == "auth" else "models"
                    raise Rejected(message, kind=kind, hint=f"{verdict.hint} {UNCHANGED}".strip())
                self._ask.print_line(f"  {MARKS.get(verdict.status, FAIL)}  {verdict.name:<9}  {message}")
        finally:
            endpoints.close()
        if trial.cost_usd:
            self._ask.print_line(f"  These calls cost ${trial.cost_usd:.6f}.")


def lasting_models(provider: Provider, listing: Listing, today: date) -> list[str]:
    """The listed models whose end is not near; all of them if that is none."""
    soon = today + SOON
    names = [
        offered.name
        for offered in listing.models
        if (offered.ends is None or offered.ends > soon)
        and ((end := retirement_of(provider.name, offered.name)) is None or end.ends > soon)
    ]
    return names or [offered.name for offered in listing.models]


def _as_address(text: str) -> str:
    """The text as an address: without a scheme it is `http://` on this machine or in its network, else
    `https://`. Raises a usage error."""
    host = urlsplit(f"//{text}").hostname or "" if "://" not in text else ""
    is_near = "." not in host or host.replace(".", "").isdigit() or host.endswith((".local", ".internal"))
    url = text if "://" in text else f"{'http' if is_near else 'https'}://{text}"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:  # a port that is not a number
        is_address = False
    if not is_address or any(map(str.isspace, url)):
        message = f"{text!r} is not an address such as https://host/v1."
        raise click.BadParameter(message, param_hint="--base-url")
    return url.rstrip("/")


def _named(name: str) -> Provider:
    provider = provider_named(name)
    if provider is not None:
        return provider
    raise unknown_name("provider", name, list(PROVIDERS), ALSO_CALLED, option="--provider")


def unknown_name(
    what: str, name: str, names: Sequence[str], aliases: Mapping[str, str], *, option: str
) -> click.BadParameter:
    """A usage error with the most similar names, and all of them."""
    similar = get_close_matches(name.lower(), [*names, *aliases], n=1, cutoff=0.5)
    nearest = f" The nearest is {aliases.get(similar[0], similar[0])!r}." if similar else ""
    return click.BadParameter(
        f"there is no {what} {name!r}.{nearest} There are: {', '.join(names)}.", param_hint=option
    )


def _titled(provider: Provider, title: str) -> str:
    return f"{provider.title} — {title}" if title else provider.title


def _is_key_of(provider: Provider, value: str) -> bool:
    owner = provider_of_key(value)
    return owner is not None and owner.name == provider.name


def _which(listing: Listing) -> str:
    names = ", ".join(offered.name for offered in listing.models[:MAX_LISTED])
    more = f" and {len(listing.models) - MAX_LISTED} more" if len(listing.models) > MAX_LISTED else ""
    return f"Name a model with --model; it offers {names}{more}." if names else "Name a model with --model."
