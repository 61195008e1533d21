"""An example of every event of `api-keys`."""

from __future__ import annotations

from hermes_jobs.features.api import events as a

EXAMPLES = (
    a.ApiKeyAdded(
        key="phone",
        digest="ab" * 32,
        scopes=("chat", "approve"),
        by="user",
        at=1_795_440_462.25,
        budget_usd=20.0,
    ),
    a.ApiKeyBudgetChanged(key="phone", by="user", budget_usd=50.0),
    a.ApiKeyRevoked(key="phone", by="user"),
)
