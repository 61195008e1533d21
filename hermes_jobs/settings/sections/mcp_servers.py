"""The configuration of a server, in the form of other clients, and the secrets that it references."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta, Struct

SERVER_NAME = r"^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$"
SERVER_URL = r"^https?://\S+$"
NAMED = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
"""`${NAME}`, or `${NAME:-default}`."""

Text = Annotated[str, Meta(min_length=1)]
Seconds = Annotated[float, Meta(gt=0)]


class McpToolSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one tool; they override its server. `ask`: whether calls need approval; `description`:
    the text for the model.
    """

    ask: bool | None = None
    timeout: Seconds | None = None
    description: Text | None = None


class McpOauth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `mcp login` that a server does not publish: a registered client, the redirect address
    of this host, and the scopes, separated by spaces."""

    client_id: Text | None = None
    client_secret: Text | None = None
    redirect_uri: (
        Annotated[str, Meta(pattern=r"^(http://(127\.0\.0\.1|localhost|\[::1\])[:/]|https://)")] | None
    ) = None
    scope: Text | None = None


class McpServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server: a `command` that is started, or a `url`.

    `timeout` is in seconds for one call, `start_timeout` until the server has listed its tools; after
    `idle_seconds` without a call it is stopped. `trusted`: its descriptions of its tools' effects are used;
    `effects` of single tools, by name, come before them and decide about a repetition after a worker's crash.
    `include` (all, where it is empty) and `exclude` are the tools to use, by name or with `*`. `required`: a
    session waits for it. `cwd`: its working folder; None: the session's. A server that is started here runs
    in a sandbox, unless that is `off`: it writes only to folders of its own and to those in `writable`;
    `readable` are those that are hidden otherwise."""

    command: Text | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: Text | None = None
    sandbox: Literal["auto", "off"] = "auto"
    readable: tuple[Text, ...] = ()
    writable: tuple[Text, ...] = ()
    url: Annotated[str, Meta(pattern=SERVER_URL)] | None = None
    headers: dict[str, str] = {}
    oauth: McpOauth | None = None
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    enabled: bool = True
    trusted: bool = False
    required: bool = False
    timeout: Seconds = 300
    start_timeout: Seconds = 30
    idle_seconds: Seconds = 600
    include: tuple[Text, ...] = ()
    exclude: tuple[Text, ...] = ()
    effects: dict[str, Literal["read", "idempotent", "write"]] = {}
    tools: dict[str, McpToolSettings] = {}

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has a `command` or a `url`")
        local = (self.args, self.env, self.cwd, self.readable, self.writable, self.sandbox == "off")
        if self.command is None and any(local):
            raise ValueError(
                "`args`, `env`, `cwd`, `sandbox`, `readable` and `writable` are of servers with a `command`"
            )
        if self.url is None and (self.headers or self.oauth):
            raise ValueError("`headers` and `oauth` are of servers with a `url`")

    def uses(self, tool: str) -> bool:
        """Whether the tool with that name is used."""
        included = not self.include or any(fnmatchcase(tool, pattern) for pattern in self.include)
        return included and not any(fnmatchcase(tool, pattern) for pattern in self.exclude)

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts in which `${NAME}` is replaced."""
        own = (self.command or "", self.url or "", self.cwd or "")
        oauth = (self.oauth.client_id or "", self.oauth.client_secret or "") if self.oauth else ()
        places = (*self.readable, *self.writable)
        return (*own, *self.args, *places, *self.env.values(), *self.headers.values(), *oauth)

    @property
    def logs_in(self) -> bool:
        """Whether OAuth is used: for HTTP servers without an own Authorization header."""
        return self.url is not None and "authorization" not in map(str.lower, self.headers)


def secrets_named(text: str) -> Iterable[str]:
    """The variables that a text references as `${NAME}`."""
    return (match["name"] for match in NAMED.finditer(text))


def filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with `${NAME}` replaced. Raises `KeyError` with the name of an unset one."""

    def value(match: re.Match[str]) -> str:
        text = variables.get(match["name"]) or match["default"]
        if text is None:
            raise KeyError(match["name"])
        return text

    return NAMED.sub(value, text)
