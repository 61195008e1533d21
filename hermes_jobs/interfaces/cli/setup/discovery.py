"""What is there already: keys in the environment, and servers on this machine that listen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hermes_jobs.agent.llm.catalogue import listing
from hermes_jobs.agent.llm.providers import PROVIDERS, Provider, ProviderName
from hermes_jobs.settings import Secrets

SECONDS = 1.0  # a server of this machine that is slower is busy with something else


def found_providers(secrets: Secrets) -> dict[ProviderName, str]:
    """Each provider that could be used at once, with what was found of it."""
    found: dict[ProviderName, str] = {}
    for each in PROVIDERS.values():
        key = next((name for name in each.keys if secrets.get(name)), None)
        if each.needs_key and key is not None:
            found[each.name] = f"{key} is set"
    local = [each for each in PROVIDERS.values() if each.local]
    with ThreadPoolExecutor(len(local)) as pool:
        for each, told in zip(local, pool.map(_served, local), strict=True):
            if told is not None:
                found[each.name] = told
    return found


def _served(provider: Provider) -> str | None:
    """What listens where that provider's server usually does; null: no such API."""
    assert provider.base_url is not None
    seen = listing(provider.base_url, None, seconds=SECONDS)
    if seen.trouble not in {None, "auth"}:
        return None
    models = f", {len(seen.models)} models" if len(seen.models) != 1 else f" with {seen.models[0].name}"
    return f"listens at {provider.base_url}{models}"
