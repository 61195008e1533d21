"""The external memory provider, for `doctor` and `memory provider`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hermes_jobs.errors import Misconfigured, Rejected
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, fail, ok, warn
from hermes_jobs.interfaces.cli.exit_codes import USAGE

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.features.memory.provider import MemoryProvider

EXTRAS = frozenset({"mem0", "honcho"})


def provider(application: Application) -> Iterator[DoctorFinding]:
    """Whether the configured memory provider is usable; nothing if none is configured."""
    name = application.settings.memory.provider
    if name is None:
        return
    try:
        memory_provider = make(application)
        available = bool(memory_provider.is_available())
    except Misconfigured as error:
        yield fail("memory", error.message, error.hint, code=USAGE)
        return
    except Exception as error:  # noqa: BLE001 - a plugin's code may raise anything
        text = f"the provider {name} cannot be loaded: {type(error).__name__}: {error}"
        yield warn("memory", text, "Turns continue without it.")
        return
    if available:
        yield ok("memory", f"the provider {name} is available")
        return
    needs = [f"{key}: {what}" for key, what in schema_of(memory_provider).items()]
    extra = f"pip install 'hermes-jobs[{name}]'" if name in EXTRAS else ""
    hint = "; ".join(part for part in ("Turns continue without it", extra, *needs) if part) + "."
    yield warn("memory", f"the provider {name} is not available", hint)


def make(application: Application) -> MemoryProvider:
    """The configured provider, without a session. Raises `Misconfigured`, `Rejected`, or its own errors."""
    from hermes_jobs.features.memory.parts import factory_and_setup

    name = application.settings.memory.provider
    if name is None:
        raise Rejected(
            "There is no memory provider beside the built-in one.",
            kind="usage",
            hint="hermes-jobs config set memory.provider NAME",
        )
    factory, setup = factory_and_setup(application.settings, name)
    return factory(setup)


def schema_of(provider: MemoryProvider) -> Mapping[str, str]:
    """The options of a provider; empty if it declares none."""
    ask = getattr(provider, "get_config_schema", None)
    return dict(ask()) if ask is not None else {}


def save(provider: MemoryProvider, texts: Sequence[str]) -> None:
    """Pass `KEY=VALUE` settings to the provider. Raises `Rejected` for an unknown key."""
    schema = schema_of(provider)
    values = dict(text.partition("=")[::2] for text in texts)
    for key in values:
        if key not in schema:
            keys = ", ".join(schema) or "none"
            raise Rejected(f"The provider has no key {key!r}.", kind="usage", hint=f"Its keys: {keys}.")
    save_config = getattr(provider, "save_config", None)
    if save_config is None:
        raise Rejected(
            "The provider keeps no settings of its own.",
            kind="usage",
            hint="Its keys are variables: set them in the environment or in `.env` of the home.",
        )
    save_config(values)
