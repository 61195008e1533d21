"""Serve: one door for browsers, and for what other modules add to it."""

from __future__ import annotations

from hermes_jobs.kernel.feature import Command, Feature

FEATURE = Feature(
    __name__,
    secrets={
        "SERVE_HASHED_PASSWORD": "the argon2 hash of the password of the web pages",
        "SERVE_PROXY_SECRET": "what the proxy that signs people in sends as X-Proxy-Secret",
    },
    commands={
        "serve": Command("cli:serve", "Serve the web pages.", "Talk"),
        "open": Command("cli:open_page", "Open the web pages in a browser.", "Talk"),
    },
)
