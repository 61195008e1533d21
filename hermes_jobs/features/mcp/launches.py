"""Launch settings of servers: their entries with all variables filled in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.logins import LoginFile, Logins
from hermes_jobs.features.mcp.messages import Confinement, Launch
from hermes_jobs.settings.sections.mcp_servers import McpOauth, McpServer, filled, secrets_named

INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER")
"""The variables of this process's environment that servers inherit."""


class LoginPlace(NamedTuple):
    """The address of a server with `${NAME}` replaced, its OAuth settings, and the file of its login."""

    url: str
    oauth: McpOauth
    file: LoginFile


class Launches:
    """The enabled servers of one configuration.

    `secret(name)` is the value of a variable that is a secret, `variables` are others; `environ`:
    servers inherit some of its variables. `home` is that of hermes-jobs, which no server reaches.
    """

    def __init__(
        self,
        config: Mapping[str, McpServer],
        *,
        secret: Callable[[str], str | None],
        variables: Mapping[str, str],
        environ: Mapping[str, str],
        logins: Logins,
        home: Path,
    ) -> None:
        self.config = {name: server for name, server in config.items() if server.enabled}
        self.logins = logins
        self._secret = secret
        self._variables = variables
        self._environ = environ
        self._home = home

    def launch(self, name: str, workdir: str) -> Launch:
        """How a server is started or reached for sessions in that folder.

        Raises `Rejected` where a variable that it names is not set.
        """
        config = self.config[name]
        values = self._values(name, config)
        timing: dict[str, Any] = {
            "start_timeout": config.start_timeout,
            "idle_seconds": config.idle_seconds,
            "secrets": tuple(
                value
                for secret_name in values
                if (value := self._secret(secret_name)) is not None and len(value) > 5
            ),
        }
        if config.url is not None:
            headers = {key: filled(text, values) for key, text in config.headers.items()}
            url = filled(config.url, values)
            login = str(self.logins.file_of(name, url).path) if config.logs_in else ""
            return _plain(name, url=url, headers=headers, login=login, **timing)
        inherited = {
            variable: self._environ[variable] for variable in INHERITED_VARIABLES if variable in self._environ
        }
        home = self._environ.get("HOME", "/")
        folder = os.path.expanduser(filled(config.cwd or workdir or home, values))  # noqa: PTH111
        folder = folder if Path(folder).is_dir() else home
        # Programs such as npx and python run code of the folder that they are started in.
        sees_key = config.cwd is None and bool(timing["secrets"] or config.readable)
        return _plain(
            name,
            command=filled(config.command or "", values),
            args=tuple(filled(arg, values) for arg in config.args),
            env={**inherited, **{key: filled(text, values) for key, text in config.env.items()}},
            cwd=home if sees_key else folder,
            sandbox=None if config.sandbox == "off" else self._confinement(name, config, folder, values),
            **timing,
        )

    def _confinement(
        self, name: str, config: McpServer, folder: str, values: Mapping[str, str]
    ) -> Confinement:
        """The sandbox of a server with that working folder; its relative places are in there."""
        user_home = self._environ.get("HOME", "/")

        def place(text: str) -> str:
            path = filled(text, values)
            path = user_home + path[1:] if path == "~" or path.startswith("~/") else path
            return os.path.normpath(os.path.join(folder, path))  # noqa: PTH118

        return Confinement(
            home=str(self._home),
            user_home=user_home,
            scratch=f"mcp:{name}",
            readable=tuple(map(place, config.readable)),
            writable=tuple(map(place, config.writable)),
        )

    def login_at(self, name: str) -> LoginPlace:
        """The login settings of a server. Raises `Rejected` if it uses no login or a variable is not
        set."""
        config = self.config.get(name)
        if config is None or config.url is None:
            reason = "it is started here" if config is not None else "it is not among the servers that are on"
            raise Rejected(f"There is no login at {name}: {reason}.", kind="usage")
        if not config.logs_in:
            raise Rejected(
                f"There is no login at {name}: its entry has an Authorization header.",
                kind="usage",
                hint=f"Take mcp_servers.{name}.headers.Authorization out of config.yaml.",
            )
        values = self._values(name, config)
        url, oauth = filled(config.url, values), config.oauth or McpOauth()
        own = {"client_id": oauth.client_id, "client_secret": oauth.client_secret}
        full = {key: filled(text, values) for key, text in own.items() if text is not None}
        return LoginPlace(url, msgspec.structs.replace(oauth, **full), self.logins.file_of(name, url))

    def _values(self, name: str, config: McpServer) -> dict[str, str]:
        names = {name for text in config.texts for name in secrets_named(text)}
        resolved = {variable: self._secret(variable) or self._variables.get(variable) for variable in names}
        values = {name: value for name, value in resolved.items() if value}
        for text in config.texts:
            try:
                filled(text, values)
            except KeyError as missing:
                variable = missing.args[0]
                raise Rejected(
                    f"the variable {variable} is not set",
                    kind="mcp",
                    hint=f"Put {variable}=… into .env in the home (mode 600); the server {name} names it.",
                ) from missing
        return values


def _plain(name: str, **fields: Any) -> Launch:
    return Launch(server=name, folder="", token="", **fields)
