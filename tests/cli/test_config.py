"""`config`: keys and secrets are read, written, taken out; what is wrong is told with the nearest right."""

from __future__ import annotations

import pytest

from tests.cli.test_completion import offered
from tests.e2e.screen import Screen
from tests.home import Home
from tests.written_home import WrittenHome

KEY = "sk-typed-and-never-shown-0123456789"


def test_a_secret_goes_into_the_env_file_and_is_never_shown(home: WrittenHome) -> None:
    env = home.path / ".env"
    done = home.run("config", "set", "GROQ_API_KEY", KEY)
    assert done.code == 0
    assert "GROQ_API_KEY is in" in done.err
    assert "history" in done.err
    assert env.read_text() == f"GROQ_API_KEY={KEY}\n"
    assert env.stat().st_mode & 0o777 == 0o600
    assert not (home.path / "config.yaml").exists() or "GROQ" not in (home.path / "config.yaml").read_text()

    asked = home.run("config", "get", "GROQ_API_KEY")
    assert asked.code == 2
    assert "is never shown. It is set in .env." in asked.err
    above = home.run("config", "set", "GROQ_API_KEY", "sk-another-0123456789", GROQ_API_KEY=KEY)
    assert "overrides .env" in above.err
    gone = home.run("config", "unset", "GROQ_API_KEY")
    assert "is out of .env. It is not set." in gone.err
    assert env.read_text() == ""
    assert "was not in .env" in home.run("config", "unset", "GROQ_API_KEY").err
    assert KEY not in done.out + done.err + asked.out + asked.err + above.err + gone.err


def test_the_rest_of_the_env_file_stays(home: WrittenHome) -> None:
    env = home.path / ".env"
    env.write_text("# mine\nA_TOKEN=one  # first\n\nexport GROQ_API_KEY=old-old-old\nOTHER=2\n")
    env.chmod(0o600)
    home.run("config", "set", "GROQ_API_KEY", KEY)
    assert env.read_text() == f"# mine\nA_TOKEN=one  # first\n\nGROQ_API_KEY={KEY}\nOTHER=2\n"
    home.run("config", "unset", "A_TOKEN")
    assert env.read_text() == f"# mine\n\nGROQ_API_KEY={KEY}\nOTHER=2\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "GROQ_API_KEY", "two words"], "it holds characters that no key has"),
        (["set", "GROQ_API_KEY", ""], "nothing was given"),
        (["set", "model.api_key", "x"], "looks like a secret"),
        (["set", "HERMES_JOBS_API_KEY", "x"], "looks like a secret"),
        (["set", "model"], "Missing argument 'VALUE'"),
        (["set", "modle", "x"], "The nearest known one is 'model'"),
        (["set", "terminal.policy", "dney"], "one of allow, ask, deny"),
        (["get", "budgets"], "is a section, not a key"),
        (["unset", "budgets"], "is a section, not a key"),
        (["show", "zzz"], "No key's name contains 'zzz'.\nHint: `hermes-jobs config show` lists every key."),
        (["show", "modle"], "No key's name contains 'modle'.\nHint: Near it: model"),
        (["get", "nope.key"], "There is no key 'nope.key'.\nHint: `hermes-jobs config show`"),
        (["get", "terminal.polcy"], "There is no key 'terminal.polcy'. Near it: terminal.policy"),
        (["unset", "day_usd"], "There is no key 'day_usd'. Near it: budgets.day_usd"),
        (["get", "OPENAI_API_KY"], "There is no variable OPENAI_API_KY.\nHint: Near it: OPENAI_API_KEY"),
        (["set", "OPENAI_API_KY", "x"], "Near it: OPENAI_API_KEY"),
    ],
)
def test_wrong_values_are_refused_and_nothing_is_written(
    home: WrittenHome, arguments: list[str], told: str
) -> None:
    done = home.run("config", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not (home.path / ".env").exists()


def test_a_secret_comes_through_a_pipe_or_is_typed_unseen(tmp_path) -> None:
    home = Home(tmp_path, {})
    assert home.run("config", "set", "EXA_API_KEY", stdin=f"{KEY}\n").code == 0
    with Screen(home, "config", "set", "GROQ_API_KEY") as screen:
        screen.shows("GROQ_API_KEY (not shown)")
        screen.type(f"{KEY}2\r")
        assert screen.end() == 0, screen.text
        assert KEY not in screen.text
        assert "history" not in screen.text
    assert (home.path / ".env").read_text() == f"EXA_API_KEY={KEY}\nGROQ_API_KEY={KEY}2\n"


def test_a_model_without_a_key_is_reported(home: WrittenHome) -> None:
    done = home.run("config", "set", "model", "anthropic:claude-sonnet-4-6")
    assert done.code == 0
    assert "ANTHROPIC_API_KEY is not set" in done.err
    assert (
        "ANTHROPIC_API_KEY"
        not in home.run(
            "config", "set", "model", "anthropic:claude-haiku-4-5", ANTHROPIC_API_KEY="sk-ant-0123456789"
        ).err
    )


def test_keys_secrets_and_values_are_offered(home: WrittenHome) -> None:
    assert offered(home, "hermes-jobs config set terminal.pol") == ["terminal.policy"]
    assert offered(home, "hermes-jobs config set BRAVE") == ["BRAVE_API_KEY"]
    assert offered(home, "hermes-jobs config get BRAVE") == []
    assert offered(home, "hermes-jobs config set terminal.policy ") == ["allow", "ask", "deny"]
    assert offered(home, "hermes-jobs config set memory.recall t") == ["true"]
    assert offered(home, "hermes-jobs config set web.search.provider b") == ["brave"]
    assert offered(home, "hermes-jobs config set model ") == []


SERVER = """# mine
mcp_servers:
  git:
    command: uvx
    args: [mcp-server-git]
    timeout: 5  # short
"""


def test_the_parts_of_an_mcp_server_are_keys(home: WrittenHome) -> None:
    config = home.path / "config.yaml"
    config.write_text(SERVER)
    for part, value in (
        ("timeout", "60"),
        ("required", "true"),
        ("env.LANG", "C.UTF-8"),
        ("tools.log.ask", "false"),
        ("args", "[mcp-server-git, --repository, /src]"),
    ):
        done = home.run("config", "set", f"mcp_servers.git.{part}", value)
        assert done.code == 0, done.err
        assert f"mcp_servers.git.{part} is set." in done.err
    assert "timeout: 60  # short" in config.read_text()
    assert home.run("config", "get", "mcp_servers.git.env.LANG").out == "C.UTF-8\n"
    assert home.run("config", "get", "mcp_servers.git.idle_seconds").out.strip() in {"600", "600.0"}
    assert home.run("config", "get", "mcp_servers.git.tools.log.ask", "--json").json is False
    for part in ("env.LANG", "required", "tools.log.ask"):
        assert home.run("config", "unset", f"mcp_servers.git.{part}").code == 0
    left = SERVER.replace("timeout: 5", "timeout: 60").replace("-git]", "-git, --repository, /src]")
    assert config.read_text() == left
    assert "nothing was changed" in home.run("config", "unset", "mcp_servers.git.env.LANG").err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "mcp_servers.git.timeout", "soon"], "expected a number above 0"),
        (["set", "mcp_servers.git.timout", "5"], "The nearest known one is 'mcp_servers.git.timeout'"),
        (["set", "mcp_servers.git.url", "https://mcp.example.com"], "a server has a `command` or a `url`"),
        (["set", "mcp_servers.git.headers.X-Team", "a"], "are of servers with a `url`"),
        (["set", "mcp_servers.git.env.API_TOKEN", KEY], "holds a secret"),
        (["set", "mcp_servers.nobody.timeout", "5"], "a server has a `command` or a `url`"),
        (["unset", "mcp_servers.git.command"], "a server has a `command` or a `url`"),
        (["get", "mcp_servers.git.env.LANG"], "mcp_servers.git.env has no entry 'LANG'"),
        (["get", "mcp_servers.nobody.timeout"], "mcp_servers has no entry 'nobody'"),
    ],
)
def test_a_part_that_leaves_no_valid_server_is_refused(
    home: WrittenHome, arguments: list[str], told: str
) -> None:
    config = home.path / "config.yaml"
    config.write_text(SERVER)
    done = home.run("config", *arguments)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert KEY not in done.err
    assert config.read_text() == SERVER


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (("config", "set", "GROQ_API_KEY"), "GROQ_API_KEY (not shown)"),
        (("schedule", "add", "Say hi every day at 9"), "Add it?"),
        (("setup",), "Provider (number or name)"),
    ],
    ids=["a secret", "a confirmation", "a choice"],
)
def test_ctrl_c_at_a_prompt_ends_its_line_and_changes_nothing(
    tmp_path, arguments: tuple[str, ...], asked: str
) -> None:
    home = Home(tmp_path, {})
    with Screen(home, *arguments) as screen:
        screen.shows(asked)
        screen.interrupt()
        assert screen.end() == 130
        assert screen.cursor[1] == 0
    assert not (home.path / ".env").exists()
    assert home.run("schedule", "list", "--json").json == []


def test_a_text_of_the_editor_that_is_refused_is_said_to_be_kept(home: Home) -> None:
    home.path.mkdir(exist_ok=True)
    (home.path / "config.yaml").write_text("agent: {max_iterations: 7}\n")
    refused = home.run("config", "edit", EDITOR="sed -i s/^agent/agemt/")
    assert refused.code == 2
    assert "Unknown key 'agemt'" in refused.err
    assert "`hermes-jobs config edit` continues with it" in " ".join(refused.err.split())
    assert (home.path / "config.yaml").read_text() == "agent: {max_iterations: 7}\n"
    assert home.run("config", "edit", EDITOR="sed -i s/^agemt/agent/").code == 0
