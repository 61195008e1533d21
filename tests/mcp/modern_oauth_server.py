"""An MCP server with its authorization server, both by the SDK, over HTTP: `modern_oauth_server.py PORT`.

Access tokens end so soon that each call gets a new one; refresh tokens rotate.
"""

import secrets
import sys
import time
from dataclasses import dataclass, field

from mcp.server.auth.provider import AccessToken, AuthorizationCode, AuthorizationParams, RefreshToken
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken

URL = f"http://127.0.0.1:{sys.argv[1]}"
LASTS = 20


@dataclass
class Provider:
    """Lets everybody in, and forgets what was used."""

    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    refreshes: dict[str, RefreshToken] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=client.client_id,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return f"{params.redirect_uri}?code={code}&state={params.state}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._granted(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshes[refresh_token.token]
        return self._granted(client.client_id, scopes, f"{URL}/mcp")

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.refreshes.pop(token.token, None)
        self.tokens.clear()

    def _granted(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(20), secrets.token_urlsafe(20)
        until = int(time.time()) + LASTS
        self.tokens[access] = AccessToken(
            token=access, client_id=client, scopes=scopes, expires_at=until, resource=resource
        )
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes)
        return OAuthToken(
            access_token=access, refresh_token=refresh, expires_in=LASTS, scope=" ".join(scopes)
        )


server = MCPServer(
    "modern",
    version="2",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=URL,
        resource_server_url=f"{URL}/mcp",
        required_scopes=["add"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["add"], default_scopes=["add"]
        ),
        revocation_options=RevocationOptions(enabled=True),
    ),
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
