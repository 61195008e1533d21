"""Logins at servers that run elsewhere: how they are made, used, renewed by many, ended, and told."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.client.auth import OAuthFlowError

from hermes_jobs.errors import Rejected
from hermes_jobs.features.mcp.authorization import LoginClient, LoginRequest, log_in_by_code, log_in_by_device
from hermes_jobs.features.mcp.bearer import NotRenewed, renew
from hermes_jobs.features.mcp.logins import Login, LoginFile, Logins, OauthClient
from hermes_jobs.features.mcp.messages import CallTool, Failed, Launch, Offer, Reply, Result, decode_response
from hermes_jobs.features.mcp.redirects import Loopback, Paste
from hermes_jobs.features.mcp.servers import Servers
from hermes_jobs.kernel.engine.in_flight import CancelToken
from hermes_jobs.settings.sections.mcp_servers import McpOauth
from tests.mcp.oauth_server import OauthServer, browse, oauth_server, visit
from tests.processes import ROOT


@pytest.fixture
def oauth() -> Iterator[OauthServer]:
    with oauth_server() as server:
        yield server


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    made = Servers(tmp_path / "run")
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> LoginFile:
    return LoginFile(tmp_path / "login.json")


def asked(oauth: OauthServer, before: Login | None = None, **entry: Any) -> LoginRequest:
    return LoginRequest(server="notes", url=oauth.mcp, oauth=McpOauth(**entry), before=before)


def logged_in(wanted: LoginRequest, *, pages: list[str] | None = None) -> Login:
    """A login by a browser on this host."""

    def open_browser(address: str) -> None:
        def go() -> None:
            shown = visit(browse(address))
            if pages is not None:
                pages.append(shown)

        threading.Thread(target=go, daemon=True).start()

    async def run() -> Login:
        async with Loopback(wanted.oauth.redirect_uri or "", open_browser, 30) as redirect:
            return await log_in_by_code(wanted, redirect)

    return asyncio.run(run())


def pasted(wanted: LoginRequest, change: Callable[[str], str] = lambda address: address) -> Login:
    """A login whose answer is pasted."""
    shown: list[str] = []
    paste = Paste("", shown.append, lambda _text: change(browse(shown[0])))
    return asyncio.run(log_in_by_code(wanted, paste))


def by_device(wanted: LoginRequest) -> Login:
    """A login whose code somebody enters at once."""

    async def at_once(_seconds: float) -> None:
        return

    return asyncio.run(log_in_by_device(wanted, lambda _code: None, at_once))


def refusal(do: Callable[[], object]) -> str:
    with pytest.raises(Rejected) as refused:
        do()
    return refused.value.message


class Client:
    """Calls of a server with the login in a file."""

    def __init__(self, oauth: OauthServer, servers: Servers, file: LoginFile) -> None:
        self.launch = Launch(server="notes", folder="", token="", url=oauth.mcp, login=str(file.path))
        self.servers = servers

    def list(self) -> Offer | Failed:
        return self.servers.list_tools(self.launch, CancelToken())

    def call(self, tool: str = "echo", text: str = "hello") -> Reply:
        asked = CallTool(tool=tool, arguments=json.dumps({"text": text}).encode(), timeout=60)
        return self.servers.call(self.launch, asked, CancelToken())

    def says(self, tool: str = "echo", text: str = "hello") -> str:
        reply = self.call(tool, text)
        assert isinstance(reply, Result), reply
        return str(decode_response(reply.content)["content"][0]["text"])

    def fails(self, tool: str = "echo") -> Failed:
        reply = self.call(tool)
        assert isinstance(reply, Failed), reply
        return reply


@pytest.fixture
def client(oauth: OauthServer, servers: Servers, file: LoginFile) -> Client:
    return Client(oauth, servers, file)


# --- how a login is made --------------------------------------------------------------------------


def test_a_browser_on_this_host_comes_back_to_it(oauth: OauthServer) -> None:
    pages: list[str] = []
    login = logged_in(asked(oauth), pages=pages)
    assert (login.issuer, login.resource, login.scope) == (oauth.issuer, oauth.mcp, "notes:read")
    assert login.access_token in oauth.tokens
    assert login.refresh_token == oauth.families[0].refresh
    assert login.expires_within(oauth.lasts + 5)
    assert not login.expires_within(oauth.lasts - 60)


def test_only_the_redirect_with_the_right_state_counts(oauth: OauthServer) -> None:
    pages: list[str] = []

    def open_browser(address: str) -> None:
        def go() -> None:
            back = browse(address)
            for wrong in (
                back.split("?")[0] + "?code=x&state=wrong",
                back.replace("/callback", "/favicon.ico"),
            ):
                try:
                    visit(wrong)
                except OSError as error:
                    pages.append(str(error))
            pages.append(visit(back))

        threading.Thread(target=go, daemon=True).start()

    async def run() -> Login:
        async with Loopback("", open_browser, 30) as redirect:
            return await log_in_by_code(asked(oauth), redirect)

    assert asyncio.run(run()).access_token in oauth.tokens
    assert ["404" in each for each in pages[:2]] == [True, True]


def test_the_answer_may_be_pasted(oauth: OauthServer) -> None:
    assert pasted(asked(oauth)).access_token in oauth.tokens


def test_a_pasted_answer_has_to_belong_to_the_login(oauth: OauthServer) -> None:
    wrong = refusal(lambda: pasted(asked(oauth), lambda _address: "http://127.0.0.1/callback?code=a&state=b"))
    assert wrong == "None of these was the address after this login."
    assert oauth.families == []


def test_a_device_asks_until_the_person_has_entered_the_code(oauth: OauthServer) -> None:
    oauth.pending = ["authorization_pending", "slow_down", "authorization_pending"]
    waits: list[float] = []
    codes: list[str] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    login = asyncio.run(log_in_by_device(asked(oauth), lambda code: codes.append(code.user_code), sleep))
    assert login.access_token in oauth.tokens
    assert codes == ["WDJB-MJHT"]
    assert waits == [1, 1, 6, 6]  # RFC 8628, section 3.5: five seconds more from then on
    assert oauth.clients["client-0"]["grant_types"][0].endswith(":device_code")


def test_a_refused_device_login_is_reported(oauth: OauthServer) -> None:
    oauth.pending = ["access_denied"]

    async def sleep(_seconds: float) -> None:
        pass

    run = log_in_by_device(asked(oauth), lambda _code: None, sleep)
    assert refusal(lambda: asyncio.run(run)) == "The login failed: no tokens were given: 400 access_denied."


def test_a_refusal_in_the_browser_is_reported(oauth: OauthServer) -> None:
    oauth.decision = "access_denied"
    pages: list[str] = []
    message = refusal(lambda: logged_in(asked(oauth), pages=pages))
    assert message == "The login failed: the authorization server refused it: access_denied."


def test_a_client_that_is_registered_there_is_used_with_its_secret(oauth: OauthServer) -> None:
    oauth.registers = False
    redirect = "http://127.0.0.1:0/callback"
    message = refusal(lambda: pasted(asked(oauth)))
    assert message.startswith("The login failed: the server knows registered clients only")
    oauth.clients["mine"] = {"redirect_uris": [redirect], "secret": "hunter2"}
    paste: list[str] = []
    wanted = asked(oauth, client_id="mine", client_secret="hunter2", redirect_uri=redirect)
    by = Paste(redirect, paste.append, lambda _text: browse(paste[0]))
    login = asyncio.run(log_in_by_code(wanted, by))
    assert login.client == OauthClient(id="mine", secret="hunter2", method="client_secret_basic")


def test_a_server_without_login_metadata_is_reported(oauth: OauthServer) -> None:
    wanted = msgspec.structs.replace(asked(oauth), url=f"{oauth.url}/elsewhere")
    assert "does not say where to log in" in refusal(lambda: pasted(wanted))


def test_another_issuer_than_the_one_that_was_looked_for_is_refused(oauth: OauthServer) -> None:
    oauth.wrong_issuer = "https://example.com/issuer"
    assert "issuer mismatch" in refusal(lambda: pasted(asked(oauth)))
    assert oauth.codes == {}


def test_an_answer_of_another_issuer_is_refused(oauth: OauthServer) -> None:
    oauth.wrong_iss = "https://example.com/issuer"
    assert "iss mismatch" in refusal(lambda: pasted(asked(oauth)))
    assert oauth.families == []


def test_without_pkce_there_is_no_login(oauth: OauthServer) -> None:
    oauth.pkce = False
    assert "PKCE" in refusal(lambda: pasted(asked(oauth)))


def test_a_server_that_is_not_reached_by_https_gets_no_login(oauth: OauthServer) -> None:
    wanted = msgspec.structs.replace(asked(oauth), url="http://example.com/mcp")
    assert "not reached by https" in refusal(lambda: pasted(wanted))


@pytest.mark.parametrize(
    "name", ["token_endpoint", "authorization_endpoint", "device_authorization_endpoint"]
)
def test_an_endpoint_that_is_not_reached_by_https_gets_nothing(oauth: OauthServer, name: str) -> None:
    oauth.says = {name: "http://elsewhere.example/it"}
    device = name == "device_authorization_endpoint"
    message = refusal(lambda: by_device(asked(oauth)) if device else pasted(asked(oauth)))
    assert "not reached by https: http://elsewhere.example/it" in message
    assert oauth.families == []


def test_metadata_that_is_not_reached_by_https_is_not_fetched(oauth: OauthServer) -> None:
    oauth.protects = {"authorization_servers": ["http://10.0.0.1/issuer"]}
    assert "not reached by https: http://10.0.0.1/" in refusal(lambda: pasted(asked(oauth)))


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/latest", "https://169.254.169.254/latest", "https://[::1]/", "https://a.localhost/"],
)
def test_a_server_elsewhere_makes_no_login_ask_this_machine(url: str) -> None:
    async def ask() -> None:
        async with LoginClient("https://notes.example/mcp") as http:
            await http.get(url)

    with pytest.raises(OAuthFlowError, match="names an address of this machine"):
        asyncio.run(ask())


TOKENLESS = {
    "an error": (400, b'{"error": "invalid_grant"}', "no tokens were given: 400 invalid_grant"),
    "a failure": (500, b"<h1>secret-page</h1>", "no tokens were given: 500"),
    "a page": (200, b"<h1>secret-page</h1>", "does not have the form that OAuth demands"),
    "no token": (200, b'{"token_type": "bearer"}', "does not have the form that OAuth demands"),
    "another type": (200, b'{"access_token": "secret-t", "token_type": "mac"}', "does not have the form"),
    "a flood": (200, b" " * (2 << 20), "an answer is larger than 1 MiB"),
}


@pytest.mark.parametrize(("code", "body", "told"), TOKENLESS.values(), ids=TOKENLESS.keys())
def test_an_invalid_token_is_no_login_and_is_not_printed(
    oauth: OauthServer, code: int, body: bytes, told: str
) -> None:
    oauth.answers = (code, body)
    message = refusal(lambda: pasted(asked(oauth)))
    assert told in message
    assert "secret" not in message


RENEWALS = {
    "a page": (200, b"<h1>Welcome</h1>", "the authorization server's answer cannot be read"),
    "a flood": (200, b" " * (2 << 20), "answer is too large or takes too long"),
    "too many requests": (429, b"{}", "the authorization server answered 429"),
}


@pytest.mark.parametrize(("code", "body", "told"), RENEWALS.values(), ids=RENEWALS.keys())
def test_an_invalid_refresh_answer_ends_no_login(
    oauth: OauthServer, file: LoginFile, code: int, body: bytes, told: str
) -> None:
    login = pasted(asked(oauth))
    file.write(login)
    oauth.answers = (code, body)
    with pytest.raises(NotRenewed, match=told):
        renew(file, login.access_token)
    kept = file.read()
    assert kept is not None
    assert (kept.ended, kept.refresh_token) == ("", login.refresh_token)


def test_scopes_that_a_call_lacked_are_asked_for_with_those_before(oauth: OauthServer) -> None:
    before = msgspec.structs.replace(pasted(asked(oauth)), wanted="notes:write")
    assert pasted(asked(oauth, before)).scope == "notes:read notes:write"


# --- how it is used -------------------------------------------------------------------------------


def test_without_a_login_the_command_to_log_in_is_named(client: Client) -> None:
    failed = client.list()
    assert isinstance(failed, Failed)
    assert failed.kind == "login"
    assert failed.message == "login needed: hermes-jobs mcp login notes (the server asks for one)"


def test_after_a_login_the_server_is_reached_at_once(
    oauth: OauthServer, client: Client, file: LoginFile
) -> None:
    client.list()
    file.write(pasted(asked(oauth)))
    assert isinstance(client.list(), Offer)
    assert client.says() == "hello"


def test_the_file_is_for_its_owner_only_and_for_its_address(oauth: OauthServer, tmp_path: Path) -> None:
    logins = Logins(tmp_path / "mcp" / "logins")
    file = logins.file_of("notes", oauth.mcp)
    file.write(pasted(asked(oauth)))
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    assert logins.file_of("notes", "https://elsewhere.example/mcp").read() is None
    logins.remove("notes")
    assert file.read() is None


def test_a_token_that_has_ended_is_renewed_once(oauth: OauthServer, client: Client, file: LoginFile) -> None:
    file.write(pasted(asked(oauth)))
    assert client.says() == "hello"
    oauth.expire()
    assert client.says() == "hello"
    assert oauth.refreshes == 1


def test_a_token_is_renewed_before_it_ends(oauth: OauthServer, client: Client, file: LoginFile) -> None:
    oauth.lasts = 20
    login = pasted(asked(oauth))
    oauth.lasts = 3600
    file.write(login)
    assert client.says() == "hello"
    assert oauth.refreshes == 1
    renewed = file.read()
    assert renewed is not None
    assert renewed.access_token != login.access_token


def test_many_calls_at_once_renew_it_once(oauth: OauthServer, client: Client, file: LoginFile) -> None:
    file.write(pasted(asked(oauth)))
    client.says()
    oauth.expire()
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(client.says())) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert said == ["hello"] * 8
    assert oauth.refreshes == 1


RENEW = """
import sys
from pathlib import Path
from hermes_jobs.features.mcp.bearer import renew
from hermes_jobs.features.mcp.logins import LoginFile
file = LoginFile(Path(sys.argv[1]))
used = file.read().access_token
print("ready", flush=True)
sys.stdin.readline()
login = renew(file, used)
print(login.access_token if not login.ended else login.ended)
"""


@pytest.mark.slow
def test_two_processes_that_refresh_at_once_both_continue(oauth: OauthServer, file: LoginFile) -> None:
    login = pasted(asked(oauth))
    file.write(login)
    oauth.hold = threading.Event()
    command = [sys.executable, "-c", RENEW, str(file.path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as one, subprocess.Popen(command, **pipes) as other:
        for each in (one, other):
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        for each in (one, other):
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        oauth.hold.set()
        tokens = {each.communicate(timeout=60)[0].strip() for each in (one, other)}
    assert len(tokens) == 1
    assert tokens < set(oauth.tokens)
    assert tokens != {login.access_token}
    assert oauth.refreshes == 1
    assert not oauth.families[0].revoked


def test_the_server_of_the_tests_revokes_all_when_an_old_refresh_token_comes_again(
    oauth: OauthServer, file: LoginFile
) -> None:
    old = pasted(asked(oauth))
    file.write(old)
    renewed = renew(file, old.access_token)
    assert renewed is not None
    file.write(old)
    refused = renew(file, old.access_token)
    assert refused is not None
    assert refused.ended == "it was refused: invalid_grant"
    assert renewed.access_token not in oauth.tokens


def test_a_server_that_does_not_rotate_keeps_its_refresh_token(oauth: OauthServer, file: LoginFile) -> None:
    oauth.rotates = False
    login = pasted(asked(oauth))
    file.write(login)
    renewed = renew(file, login.access_token)
    assert renewed is not None
    assert renewed.refresh_token == login.refresh_token


# --- how it ends ----------------------------------------------------------------------------------


def test_an_ended_login_is_reported_and_not_retried(
    oauth: OauthServer, client: Client, file: LoginFile
) -> None:
    file.write(pasted(asked(oauth)))
    client.says()
    oauth.revoke()
    message = "login needed: hermes-jobs mcp login notes (it was refused: invalid_grant)"
    for _ in range(3):
        failed = client.fails()
        assert (failed.kind, failed.message, failed.sent) == ("login", message, False)
    assert oauth.refreshes == 1
    file.write(pasted(asked(oauth)))
    assert client.says() == "hello"


def test_a_temporary_failure_is_retried_and_ends_no_login(
    oauth: OauthServer, client: Client, file: LoginFile
) -> None:
    file.write(pasted(asked(oauth)))
    client.says()
    oauth.expire()
    oauth.down = True
    failed = client.fails()
    assert failed.kind == "refused"
    assert failed.message == "its login could not be renewed now: the authorization server answered 503"
    client.fails()
    assert oauth.asked.count("/issuer/token") == 2  # the login itself, and one renewal
    oauth.down = False
    login = file.read()
    assert login is not None
    assert login.ended == ""
    file.write(msgspec.structs.replace(login, tried_at=time.time() - 60))
    assert client.says() == "hello"


def test_a_call_without_the_scope_names_the_command(
    oauth: OauthServer, client: Client, file: LoginFile
) -> None:
    file.write(pasted(asked(oauth)))
    failed = client.fails("write")
    assert failed.kind == "scope"
    assert failed.message == "it wants more rights (notes:write): hermes-jobs mcp login notes"
    assert client.says() == "hello"
    login = file.read()
    assert login is not None
    file.write(pasted(asked(oauth, login)))
    assert client.says("write") == "hello"


def test_a_server_never_sees_its_token_in_a_result(
    oauth: OauthServer, client: Client, file: LoginFile
) -> None:
    file.write(pasted(asked(oauth)))
    assert client.says("token") == "Bearer [REDACTED]"


def test_an_authorization_server_that_is_away_ends_nothing(oauth: OauthServer, file: LoginFile) -> None:
    login = msgspec.structs.replace(pasted(asked(oauth)), token_endpoint="http://127.0.0.1:9/token")
    file.write(login)
    for _ in range(2):
        with pytest.raises(NotRenewed, match="cannot be reached"):
            renew(file, login.access_token)
    kept = file.read()
    assert kept is not None
    assert (kept.ended, kept.refresh_token) == ("", login.refresh_token)
