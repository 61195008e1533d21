"""What `doctor` says of web search: off, ready, or what is missing."""

from __future__ import annotations

import pytest

from hermes_jobs.features.web.doctor import web_search
from hermes_jobs.settings import load
from tests.written_home import WrittenHome

PROVIDER = "HERMES_JOBS_WEB__SEARCH__PROVIDER"
AT = "HERMES_JOBS_WEB__SEARCH__BASE_URL"
KEY = "search-key-that-nobody-may-see"


@pytest.mark.parametrize(
    ("environ", "status", "told"),
    [
        ({}, "ok", "no web search; choose a provider: hermes-jobs setup --search NAME"),
        ({PROVIDER: "brave"}, "warn", "BRAVE_API_KEY is not set"),
        (
            {PROVIDER: "brave", "BRAVE_API_KEY": KEY},
            "ok",
            "searched by Brave Search, with the key BRAVE_API_KEY",
        ),
        ({PROVIDER: "searxng"}, "warn", "SearXNG needs web.search.base_url"),
        ({PROVIDER: "searxng", AT: "http://me:word-0123@h.example"}, "ok", "[REDACTED]@h.example"),
        (
            {PROVIDER: "exa", "EXA_API_KEY": KEY, "HERMES_JOBS_TOOLSETS__DISABLED": "[web]"},
            "warn",
            "Exa, and the toolset web is off",
        ),
    ],
)
def test_doctor_names_the_search_providers_or_what_is_missing(
    home: WrittenHome, environ: dict[str, str], status: str, told: str
) -> None:
    done = home.run("doctor", "--json", **environ)
    [found] = [check for check in done.json["checks"] if check["check"] == "web"]
    assert (found["status"], told in found["message"]) == (status, True), found
    assert KEY not in done.out + done.err
    assert "word-0123" not in done.out + done.err


def test_duckduckgo_without_its_library_says_how_to_install_it(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hermes_jobs.features.web.search import duckduckgo

    settings = load({PROVIDER: "duckduckgo"}, home=tmp_path)
    monkeypatch.setattr(duckduckgo, "find_spec", lambda _name: None)
    [missing] = web_search(settings, {}, live=False)
    assert (missing.status, missing.hint) == ("warn", "pip install 'hermes-jobs[duckduckgo]'")
    monkeypatch.setattr(duckduckgo, "find_spec", lambda _name: object())
    [ready] = web_search(settings, {}, live=False)
    assert (ready.status, ready.message) == ("ok", "searched by DuckDuckGo, without a key")
