"""Imports servers from the files of other clients, and moves secrets out of their entries.

Claude Desktop, Claude Code and Cursor keep servers as `mcpServers` in JSON, VS Code as `servers`, Hermes as
`mcp_servers` in YAML, Codex in TOML. Settings that this project does not have are
reported.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from hermes_jobs.agent.mcp.config import NAMED, SERVER_NAME, McpOauth, McpServer
from hermes_jobs.system.struct_types import described

PLACES = (
    ".mcp.json",
    "~/.claude.json",
    "~/.config/Claude/claude_desktop_config.json",
    "~/Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    "~/.cursor/mcp.json",
    ".vscode/mcp.json",
    "~/.codex/config.toml",
    "~/.hermes/config.yaml",
)
"""The files of other clients; a relative path is in the current folder."""

GROUPS = ("mcpServers", "mcp_servers", "servers")
RENAMED = {
    "connect_timeout": "start_timeout",
    "startup_timeout_sec": "start_timeout",
    "tool_timeout_sec": "timeout",
    "serverUrl": "url",
    "httpUrl": "url",
    "enabled_tools": "include",  # Codex
    "disabled_tools": "exclude",
    "disabledTools": "exclude",  # Windsurf, Kiro
}
OAUTH = {
    "clientId": "client_id",
    "clientSecret": "client_secret",
    "callbackPort": "redirect_port",
    "scopes": "scope",
}
OFF = frozenset({"disabled"})
NEVER_TAKEN = frozenset({"trusted", "effects", "sandbox", "readable", "writable"})
"""Settings that would let a server's tools run without a question, or reach more: a user gives these, no
file."""
MAX_CHARACTERS = 4_000_000


class ImportedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server in a file of another client. `left_out`: settings that are not imported; `problem`: why it
    cannot be imported. `secrets` are to be written to `.env`. `off_by`: what disables it, if it is disabled.
    `off_in`: the projects of Claude Code that disable it, although it is on for the others."""

    name: str
    entry: dict[str, Any]
    secrets: dict[str, str] = {}
    off_by: str = "that file"
    left_out: tuple[str, ...] = ()
    problem: str = ""
    off_in: tuple[str, ...] = ()

    @property
    def remarks(self) -> str:
        """Differences from the other client's file, and whether the server is off."""
        parts = (
            f"without {', '.join(self.left_out)}" if self.left_out else "",
            f"off, as in {self.off_by}" if self.entry.get("enabled") is False else "",
            f"on, although it is off in {', '.join(self.off_in)}" if self.off_in else "",
        )
        return "; ".join(part for part in parts if part)


def effect_of(server: ImportedServer) -> str:
    """What the server would run or reach, and which variables of this home it would get, in words."""
    entry = server.entry
    command = shlex.join([str(entry.get("command")), *map(str, entry.get("args", ()))])
    acts = f"reaches {entry['url']}" if "url" in entry else f"runs {command}"
    given = NAMED.findall(msgspec.json.encode(entry).decode())
    own = sorted({name for name, _ in given} - set(server.secrets))
    parts = (
        acts,
        f"in {entry['cwd']}" if "cwd" in entry else "",
        f"with {', '.join(map(str, entry['env']))} set" if entry.get("env") else "",
        f"gets your {', '.join(own)}" if own else "",
    )
    return "; ".join(part for part in parts if part)


def servers_in(document: object, disabled_here: frozenset[str] = frozenset()) -> Iterator[ImportedServer]:
    """The servers of a decoded file, also those that Claude Code has for single projects.

    A project's own server that the project disables is off (`enabled: false`). There are no projects here:
    where a project disables a server of all projects, that stays on and the project is named. The servers in
    `disabled_here` are off, too: see `disabled_by_claude`.
    """
    if not isinstance(document, dict):
        return
    projects = _table(document.get("projects"))
    disabled = {str(folder): _disabled(project) for folder, project in projects.items()}
    for group in GROUPS:
        entries = document.get(group)
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            if isinstance(entry, dict):
                off_in = tuple(folder for folder, names in disabled.items() if name in names)
                server = replace(_taken(str(name), entry), off_in=off_in)
                yield _off(server) if name in disabled_here else server
    for folder, project in projects.items():
        for name, entry in _table(_table(project).get("mcpServers")).items():
            if isinstance(entry, dict):
                off = {"disabled": True} if name in disabled[str(folder)] else {}
                yield _taken(str(name), entry | off)


def _disabled(project: object, key: str = "disabledMcpServers") -> frozenset[str]:
    names = _table(project).get(key)
    return frozenset(map(str, names)) if isinstance(names, list) else frozenset()


def _off(server: ImportedServer) -> ImportedServer:
    if server.problem:
        return server
    return replace(server, entry=server.entry | {"enabled": False}, off_by="the settings of Claude Code")


def disabled_by_claude(path: Path, home: str) -> frozenset[str]:
    """The servers of a project's `.mcp.json` that the user of Claude Code has rejected: those that are
    `disabledMcpjsonServers` in its settings or its state of the project, whatever else enables them."""
    if path.name != ".mcp.json":
        return frozenset()
    folder = path.absolute().parent
    settings = [
        *(folder / ".claude" / name for name in ("settings.json", "settings.local.json")),
        Path(home, ".claude", "settings.json"),
    ]
    projects = _table(_table(_read_or_nothing(Path(home, ".claude.json"))).get("projects"))
    places = [*map(_read_or_nothing, settings), projects.get(str(folder))]
    return frozenset(name for place in places for name in _disabled(place, "disabledMcpjsonServers"))


def _read_or_nothing(path: Path) -> object:
    try:
        return read(path)
    except (OSError, ValueError):
        return None


def legal_name(name: str) -> str:
    """The name in legal form: `Brave Search` becomes `brave-search`."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name.strip()).strip("-_")
    plain = re.sub(r"_{2,}", "_", plain if re.fullmatch(r"[A-Za-z0-9_-]+", name) else plain.lower())
    return plain[:32].strip("-_") or "server"


def _taken(name: str, entry: Mapping[str, Any]) -> ImportedServer:
    legal = name if re.fullmatch(SERVER_NAME, name) else legal_name(name)
    plain = _by_variables(_named_by_codex(entry))
    renamed = {RENAMED.get(key, key): value for key, value in plain.items()}
    names = {field.name for field in msgspec.structs.fields(McpServer)} - NEVER_TAKEN
    known_fields = {key: value for key, value in renamed.items() if key in names}
    left_out = tuple(sorted(key for key in renamed if key not in names and key not in OFF))
    if renamed.get("disabled") is True:
        known_fields["enabled"] = False
    if known_fields.get("type") == "sse" or str(known_fields.get("url", "")).rstrip("/").endswith("/sse"):
        problem = "it uses the old SSE transport, which is not supported; ask for its /mcp address"
        return ImportedServer(name=legal, entry={}, problem=problem)
    tools = known_fields.pop("tools", None)
    chosen = {key: value for key, value in _table(tools).items() if key in {"include", "exclude"}}  # Hermes
    known_fields |= chosen
    if tools is not None and (not isinstance(tools, dict) or len(chosen) < len(tools)):
        left_out = (*left_out, "tools")
    if "oauth" in known_fields:
        known_fields["oauth"], unknown = _oauth(known_fields["oauth"] if "url" in known_fields else None)
        left_out = (*left_out, *unknown)
    entry, secrets = without_secrets(
        legal, {key: value for key, value in known_fields.items() if value is not None}, of_file=True
    )
    try:
        msgspec.convert(entry, described(McpServer))
    except msgspec.ValidationError as error:
        return ImportedServer(name=legal, entry={}, problem=str(error))
    return ImportedServer(name=legal, entry=entry, secrets=secrets, left_out=left_out)


def _named_by_codex(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry with the headers and variables of Codex's own keys."""
    plain = dict(entry)
    headers = {**_table(plain.get("headers")), **_table(plain.pop("http_headers", None))}
    headers |= {key: f"${{{name}}}" for key, name in _table(plain.pop("env_http_headers", None)).items()}
    if token := plain.pop("bearer_token_env_var", None):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    if headers:
        plain["headers"] = headers
    names = plain.get("env_vars")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        del plain["env_vars"]
        plain["env"] = {name: f"${{{name}}}" for name in names} | _table(plain.get("env"))
    return plain


def _table(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}


_OTHER_NAME = re.compile(r"\$\{(?:env|input):([^}]+)\}")


def _by_variables(value: Any) -> Any:
    """The value with `${env:NAME}` and `${input:id}` of Cursor and VS Code as `${NAME}` and `${ID}`."""
    if isinstance(value, str):
        return _OTHER_NAME.sub(_variable, value)
    if isinstance(value, dict):
        return {key: _by_variables(item) for key, item in value.items()}
    return [_by_variables(item) for item in value] if isinstance(value, list) else value


def _variable(match: re.Match[str]) -> str:
    name = re.sub(r"[^A-Za-z0-9_]", "_", match[1])
    return f"${{{name.upper() if match[0].startswith('${input') else name}}}"


def _oauth(entry: object) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The OAuth settings of Claude Code and Hermes, and the names of those that are not imported."""
    options = entry if isinstance(entry, dict) else {}
    renamed = {OAUTH.get(key, key): value for key, value in options.items()}
    port = renamed.pop("redirect_port", None)
    if isinstance(port, int) and port > 0 and "redirect_uri" not in renamed:
        renamed["redirect_uri"] = f"http://localhost:{port}/callback"
    names = {field.name for field in msgspec.structs.fields(McpOauth)}
    known_fields = {
        key: value for key, value in renamed.items() if key in names and isinstance(value, str) and value
    }
    unknown = tuple(f"oauth.{key}" for key in sorted(map(str, renamed)) if key not in names)
    return known_fields or None, unknown


def without_secrets(
    name: str, entry: Mapping[str, Any], *, of_file: bool = False
) -> tuple[dict[str, Any], dict[str, str]]:
    """The entry with the values of its environment, headers and client named instead, where they may be
    secrets, and these values by the names of their variables.

    `of_file`: no name is one that the file chose, which might be a variable of hermes-jobs itself.
    """
    secrets: dict[str, str] = {}
    changed = dict(entry)
    for part in ("env", "headers", "oauth"):
        values = entry.get(part)
        if isinstance(values, dict):
            changed[part] = {
                key: _named(name, part, key, str(value), secrets, of_file=of_file)
                for key, value in values.items()
            }
    return changed, secrets


def _named(server: str, part: str, key: str, value: str, secrets: dict[str, str], *, of_file: bool) -> str:
    if NAMED.search(value) or not value or not _may_be_secret(part, key, value):
        return value
    variable = key if part == "env" and not of_file else f"MCP_{server}_{key}"
    variable = re.sub(r"[^A-Za-z0-9_]", "_", variable).upper()
    secrets[variable] = value
    return f"${{{variable}}}"


_PLAIN_HEADERS = frozenset({"accept", "content-type", "user-agent", "accept-language"})
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|_PAT$|^PAT$|DSN|DATABASE_URL", re.IGNORECASE
)


def _may_be_secret(part: str, key: str, value: str) -> bool:
    if part == "headers":
        return key.lower() not in _PLAIN_HEADERS
    if part == "oauth":
        return key == "client_secret"
    return _SECRET.search(key) is not None or re.search(r"://[^/\s:@]*:[^/\s@]+@", value) is not None


def read(path: Path) -> object:
    """The decoded content of a file: JSON (with comments), YAML or TOML. Raises `OSError`, `ValueError`."""
    with path.open(encoding="utf-8-sig") as file:
        text = file.read(MAX_CHARACTERS + 1)
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"it has more than {MAX_CHARACTERS:,} characters")
    try:
        return _decoded(path, text)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _decoded(path: Path, text: str) -> object:
    if path.suffix in (".yaml", ".yml"):
        import yaml

        try:
            if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
                raise ValueError("it has aliases (*name), which are not read here")
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"{path} is not YAML: {error}") from error
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{path} is not TOML: {error}") from error
    try:
        return msgspec.json.decode(_strict(text))
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error


# What is not closed extends to the end, so that nothing is searched twice.
_STRING = r'("(?:\\.|[^"\\])*+\\?(?:"|\Z))'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)


def _strict(text: str) -> str:
    """JSON without the comments and the commas after a last member, which VS Code lets users write."""
    for surplus in (_COMMENT, _LAST_COMMA):
        text = surplus.sub(lambda match: match[1] or " ", text)
    return text
