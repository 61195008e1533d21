"""The configuration of a server, in the form that other clients use, and the secrets that it names."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

SERVER_NAME = r"^(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,31}$"
NAMED = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
"""`${NAME}`, or `${NAME:-default}`."""

Text = Annotated[str, Meta(min_length=1)]
Seconds = Annotated[float, Meta(gt=0)]


class McpToolSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What holds for one tool instead of what its server says. `effect`: what follows where a worker died
    during a call; `ask`: whether calls wait for a person; `description`: the text that the model reads.
    """

    enabled: bool = True
    effect: Literal["read", "idempotent", "write"] | None = None
    ask: bool | None = None
    timeout: Seconds | None = None
    description: Text | None = None


class McpOauth(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `mcp login` logs in where a server does not say it all: a client that is registered there, the
    address of this host to which it sends the browser, and the scopes, separated by spaces."""

    client_id: Text | None = None
    client_secret: Text | None = None
    redirect_uri: (
        Annotated[str, Meta(pattern=r"^(http://(127\.0\.0\.1|localhost|\[::1\])[:/]|https://)")] | None
    ) = None
    scope: Text | None = None


class McpServer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server: a `command` that is started, or a `url`.

    `timeout` is in seconds for one call, `start_timeout` until the server has listed its tools; without a
    call for `idle_seconds` it is ended. `trust`: what it says of its tools is believed. `required`: a session
    waits for it. `cwd`: where it is started; None: in the session's working folder.
    """

    command: Text | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: Text | None = None
    url: Annotated[str, Meta(pattern=r"^https?://\S+$")] | None = None
    headers: dict[str, str] = {}
    oauth: McpOauth | None = None
    type: Literal["stdio", "http", "streamable-http", "streamableHttp"] | None = None
    enabled: bool = True
    trust: bool = False
    required: bool = False
    timeout: Seconds = 300
    start_timeout: Seconds = 30
    idle_seconds: Seconds = 600
    tools: dict[str, McpToolSettings] = {}

    def __post_init__(self) -> None:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has a `command` or a `url`")
        if self.command is None and (self.args or self.env or self.cwd):
            raise ValueError("`args`, `env` and `cwd` are of servers with a `command`")
        if self.url is None and (self.headers or self.oauth):
            raise ValueError("`headers` and `oauth` are of servers with a `url`")

    @property
    def texts(self) -> tuple[str, ...]:
        """Every text in which `${NAME}` is replaced."""
        own = (self.command or "", self.url or "", self.cwd or "")
        oauth = (self.oauth.client_id or "", self.oauth.client_secret or "") if self.oauth else ()
        return (*own, *self.args, *self.env.values(), *self.headers.values(), *oauth)

    @property
    def logs_in(self) -> bool:
        """Whether a login by OAuth is used: a server elsewhere to which no header of its own is sent."""
        return self.url is not None and "authorization" not in map(str.lower, self.headers)


def secrets_named(text: str) -> Iterable[str]:
    """The variables that a text names as `${NAME}`."""
    return (found["name"] for found in NAMED.finditer(text))


def filled(text: str, variables: Mapping[str, str]) -> str:
    """The text with `${NAME}` replaced. Raises `KeyError` with the name of one that is not set."""

    def value(found: re.Match[str]) -> str:
        given = variables.get(found["name"]) or found["default"]
        if given is None:
            raise KeyError(found["name"])
        return given

    return NAMED.sub(value, text)
