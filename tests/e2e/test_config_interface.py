"""Each key of the configuration that outside programs may rely on is accepted, by the name it has there."""

from __future__ import annotations

import json

from tests.home import Home

CONFIG = """
model:        {model: gpt-5, provider: auto, base_url: "http://127.0.0.1:1/v1", api: chat,
               context_length: null, max_tokens: null, prompt_cache: auto, cache_ttl: 5m, tool_calling: auto,
               reasoning_effort: null, fallback: [], idle_timeout: 120, timeout: null, wait_for_quota: 6h}
models:       {aliases: {}, prices: {}, duo: {members: [a, b], aggregator: a}}
agents:       {looker: {prompt: x, toolsets: [files], model: a, budget: 1, max_iterations: 3}}
delegation:   {per_root: 3, per_home: 10, depth: 2}
mcp_servers:
  one: {command: cat, args: [], env: {}, cwd: /tmp, trusted: false, required: false, timeout: 300,
        idle_seconds: 600, include: [], exclude: [], effects: {}}
  two: {url: "http://localhost:1/mcp", headers: {A: b}}
mcp:          {inline_share: 0.05}
learning:     {verify: cheap}
search:       {expand: false}
auxiliary:    {model: null, base_url: null, compression: {}, session_search: {}, review: {}}
agent:        {max_iterations: 90, workdir: null}
session:      {if_busy: queue}
compression:  {enabled: true, threshold: 0.50, target_ratio: 0.20, protect_last_n: 20, summary_model: null}
context:      {engine: compressor}
memory:       {memory_chars: 2200, user_chars: 1375, nudge_interval: 10, recall: false, recall_tokens: 1000,
               provider: null}
skills:       {creation_nudge_interval: 10, external_dirs: [], guard: true}
toolsets:     {enabled: [files], disabled: []}
tools:        {result_chars: 100000, turn_chars: 200000, preview_chars: 1500, serialize_terminal: false}
terminal:     {backend: local, policy: ask, allow: [], timeout: 30, approval_seconds: 900}
files:        {roots: null}
schedules:    {timezone: null, missed: run_once, overlap: skip}
budgets:      {turn_usd: null, turn_tokens: null, session_usd: null, day_usd: null}
gateway:      {users: {}, telegram: {allowed_users: [], base_url: null}}
workers:      {concurrency: 4, lease_seconds: 10, stop_seconds: 20}
"""


def test_every_key_of_the_interface_is_accepted(home: Home) -> None:
    home.path.mkdir(exist_ok=True)
    (home.path / "config.yaml").write_text(CONFIG)
    shown = home.run("config", "show", "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["mcp_servers"]["one"]["idle_seconds"] == 600


def test_a_server_is_added_by_its_address(home: Home) -> None:
    added = home.run("mcp", "add", "issues", "https://mcp.example.com/mcp", "--no-test")
    assert added.code == 0, added.err
    assert home.run("config", "get", "mcp_servers.issues.url").out.strip() == "https://mcp.example.com/mcp"
    refused = home.run("mcp", "add", "none", "--no-test")
    assert refused.code == 2
    assert "Give a URL, or a command after --." in refused.err
