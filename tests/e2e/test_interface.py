"""Every command, flag, exit code and JSON shape that is promised, as a table of processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import click
import msgspec
import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.client.transfer import sql_log
from hermes_jobs.features.titles.api import rename_session
from hermes_jobs.interfaces.cli import hermes_jobs
from hermes_jobs.kernel.events import Opening, TurnSubmitted
from hermes_jobs.kernel.log.export_log import export_log
from hermes_jobs.kernel.turns import commands as c
from hermes_jobs.runtime.inline_worker import InlineWorker
from hermes_jobs.settings import load
from tests.e2e import shapes
from tests.home import Home, endpoint
from tests.model_script import Answer, AskedCall, Refuse, Rule, Script
from tests.model_server import ModelServer

LOOK = AskedCall("terminal", {"command": "echo seen"})
SCRIPT = Script(
    rules=(
        Rule("Look", (Answer(tool_calls=(LOOK,)), Answer(text="I looked."))),
        Rule("Break", (Refuse(status=400, message="no"),)),
        Rule("Refuse", (Refuse(status=401, message="no"),)),
    )
)
# They have tests of their own.
ELSEWHERE = {
    "setup",
    "chat",
    "run gateway telegram",
    "up",
    "down",
    "run worker",
    "run beat",
    "run flower",
    "serve",
    "usage",
    "memory",
    "skills",
    "schedule",
    "approvals",
    "processes",
    "redact",
    "service",
    "help",
    "config edit",
    "mcp",
    "acp",
}


class Row(msgspec.Struct, frozen=True):
    """A command line (LOOKED, BROKEN and so on stand for ids) with its exit code, and what it prints.

    `shape`: of its one JSON value, or, with `lines`, of each line's. `out`: its standard output, exactly.
    """

    line: str
    code: int = 0
    shape: Any = None
    out: str | None = None
    lines: bool = False
    stdin: str | None = None

    @property
    def marks(self) -> tuple[pytest.MarkDecorator, ...]:
        """Where a model is asked, each process takes a second."""
        asks = self.line.startswith(("send", "turns retry BROKEN", "doctor --live")) and self.code not in {
            2,
            3,
        }
        return (pytest.mark.slow,) if asks and "--no-wait" not in self.line else ()


ECHO = "You said: Hi\n"
TABLE = (  # of rows that hold in any order: processes that run tests share them out as they like
    # --- send
    Row(
        "sessions search nosuchword -n 2 --role user --after 2020-01-01T08:30 --before 2100-01-01"
        " --source cli --all --json",
        shape=[],
    ),
    Row("turns continue nosuch --budget 1", 2, out=""),
    Row("turns continue nosuch -m other", 2, out=""),
    Row("turns continue nosuch --model other --wait --timeout 60", 2, out=""),
    Row("turns continue nosuch --no-wait", 2, out=""),
    Row("turns continue LOOKED", 1, out=""),
    Row("turns continue LOOKED --json -q --no-stream", 1, out=""),
    Row("turns continue LOOKED --jsonl --quiet --stream", 1, out=""),
    Row("turns retry nosuch --budget 1", 2, out=""),
    Row("turns retry nosuch -m other", 2, out=""),
    Row("turns retry nosuch --model other", 2, out=""),
    Row("send --mode full --unattended --approve rm Hi", out=ECHO),
    Row("send --skill none Hi", 2),
    Row("send --env NOTHING --no-wait --schema nosuch.json Hi", 2, out=""),
    Row("turns approve LOOKED --session --no-wait", 1, out=""),
    Row("turns approve LOOKED --always --no-wait", 1, out=""),
    Row("turns deny LOOKED --reason No --no-wait", 1, out=""),
    Row("turns list --all", 0),
    Row("turns show LOOKED --full --prompt"),
    Row("turns diff LOOKED"),
    Row("turns rewind LOOKED --dry-run --force --json", 1, out=""),
    Row("turns rewind nosuch --undo", 2, out=""),
    Row("sessions delete nosuch --with-forks --why Because --dry-run --yes --json", 2, out=""),
    Row("sessions delete nosuch -y", 2, out=""),
    Row("sessions export SESSION --format md --tools"),
    Row("sessions export SESSION --format html --no-tools"),
    Row("turns tree LOOKED"),
    Row("turns tree last --json", shape=dict),
    Row("agents list"),
    Row("agents list --workdir . -n 2 --json", shape=list),
    Row("agents show research --workdir . -n 1 --json", shape=object),
    Row("agents show reserch", 2, out=""),
    Row("config get agent.max_iterations --json", shape=object),
    Row("config unset agent.max_iterations"),
    Row("reviews list"),
    Row("reviews list -n 3 --json", shape=list),
    Row("reviews show nosuch -n 1 --json", 2, out=""),
    Row("reviews retry nosuch --json", 2, out=""),
    Row("reviews cancel nosuch --json", 2, out=""),
    Row("reviews apply nosuch --only 1 --json", 2, out=""),
    Row("reviews keep nosuch --only 1 --json", 2, out=""),
    Row("reviews curate --wait --timeout 60 --json"),
    Row("reviews curate --no-wait --timeout never", 2, out=""),  # one that waits would be in the way
    Row("sessions compress SESSION --focus Rome --wait --timeout 60", 1, out=""),
    Row("sessions compress SESSION --json", 1, {"session": str, "into": None, "message": str}),
    Row("sessions compress nosuch --no-wait --json", 2, out=""),
    Row("sessions consolidate nosuch --json", 2, out=""),
    Row("sessions consolidate", 2, out=""),
    Row("sessions consolidate SESSION --json", 1, shape=list),  # an echo is not a list of observations
    Row("sessions consolidate --all-finished -n 1", 1, out=""),
    Row("sessions summary SESSION", out=""),
    Row("sessions summary SESSION --json", shape=object),
    Row("sessions summary nosuch --json", 2, out=""),
    Row("send Hi", out=ECHO),
    Row("send -q -", stdin="Hi", out=ECHO),
    Row("send --quiet --no-stream -f hi.txt", out=ECHO),
    Row("send --file hi.txt -m other --json", shape={**shapes.RESULT, "model": "other"}),
    Row("send --stream Hi", out=ECHO),
    Row("send -s SESSION -m other Hi", out=ECHO),
    Row("send --session TITLE --toolsets files,terminal Hi", out=ECHO),
    Row("send --system Short. --toolsets files --source test --model other Hi", out=ECHO),
    Row("send -c --key k1 --wait --timeout 60 --json Hi", shape={**shapes.RESULT, "status": "completed"}),
    Row("send --continue --if-busy collect Hi", out=ECHO),
    Row("send -c --anywhere Hi", out=ECHO),
    Row("send -c --workdir . Hi", out=ECHO),
    Row("send --workdir nowhere Hi", 2, out=""),
    Row("send --jsonl Look", shape=shapes.LINE, lines=True),
    Row("send --mode full --approve echo --unattended --env PATH --json Look", shape=shapes.RESULT),
    Row("send --schema hi.txt Hi", 2, out=""),
    Row("send -a nosuch.png Hi", 2, out=""),
    Row("send --attach nosuch.png --if-changed true Hi", 2, out=""),
    Row("send --deliver nowhere Hi", 2, out=""),
    Row("send --no-wait --json Hi", shape={**shapes.RESULT, "status": "queued"}),
    Row("send --no-wait --jsonl Hi", shape={**shapes.EVENT, "type": "TurnSubmitted"}, lines=True),
    Row("send --json Break", 1, {**shapes.RESULT, "status": "failed"}),
    Row("send Break", 1, out=""),
    Row("send Refuse", 4, out=""),
    Row("send --json --timeout 0 Hi", 3, shapes.RESULT),
    Row("send -s ENDED Hi", 1, out=""),
    Row("send -s SESSION --system Other. Hi", 2, out=""),
    Row("send --json --jsonl Hi", 2, out=""),
    Row("send -s SESSION -c Hi", 2, out=""),
    Row("send --toolsets nosuch Hi", 2, out=""),
    Row("send --toolsets , Hi", 2, out=""),
    Row("send --if-busy sometimes Hi", 2, out=""),
    Row("send", 2, out=""),
    # --- turns
    Row(
        "turns rate RATED up --note Good --json",
        shape={**shapes.RESULT, "rating": "up", "rating_note": "Good"},
    ),
    Row("turns replay LOOKED --json", shape=shapes.REPLAY),
    Row("turns replay LOOKED -m other -n 2"),
    Row("turns replay nosuch --budget 5", 2, out=""),
    Row("experiments new one --turns nosuchword --variants hi.txt", 2, out=""),
    Row(
        "experiments new one --turns x --variants hi.txt --follow --allow-reads --budget 1 --json", 2, out=""
    ),
    Row("experiments run nosuch --budget 1 --json", 2, out=""),
    Row("experiments show nosuch --json", 2, out=""),
    Row("experiments show nosuch --html x.html", 2, out=""),
    Row("experiments list -n 1 --json", shape=[]),
    Row("experiments show nosuch -n 1", 2, out=""),
    Row("experiments run nosuch --wait", 2, out=""),
    Row("experiments run nosuch --no-wait", 2, out=""),
    Row("experiments cancel nosuch --json", 2, out=""),
    Row("turns replay LOOKED --model other --follow --allow-reads --json", shape=shapes.REPLAY),
    Row("turns replay LOOKED --without skill:nosuch", 2, out=""),
    Row("turns replay LOOKED --system nosuch.txt", 2, out=""),
    Row("turns replay nosuch", 2, out=""),
    Row("turns rate LOOKED none --json", shape=shapes.RESULT),
    Row("turns rate LOOKED", 2, out=""),
    Row("turns list --label nosuch -n 1 --json", shape=[]),
    Row("turns label LOOKED --remove nosuch --json", shape=shapes.RESULT),
    Row("turns label LOOKED no.t/so", 2, out=""),
    Row("turns rate LOOKED well", 2, out=""),
    Row("turns rate nosuch up", 2, out=""),
    Row("turns list --json", shape=[(shapes.LISTED_TURN, shapes.RATED_TURN)]),
    Row(
        "turns list -s SESSION --status completed -n 1 --json",
        shape=[{**shapes.LISTED_TURN, "status": "completed"}],
    ),
    Row("turns list --session TITLE"),
    Row("turns list --since yesterday -n 1 --json", shape=[(shapes.LISTED_TURN, shapes.RATED_TURN)]),
    Row("turns list --all -n 1 --json", shape=[shapes.LISTED_TURN]),
    Row("turns show LOOKED --json", shape={**shapes.RESULT, "steps": [shapes.STEP]}),
    Row("turns show LOOKED -n 1"),
    Row("turns show LOOKED --html turn.html", out=""),
    Row("turns show LOOKED --html turn.html --json", 2, out=""),
    Row("turns show LOOKED --save saved", 1, out=""),
    Row("turns show nosuch", 2, out=""),
    Row("turns show LOOKED --full"),
    Row("turns show LOOKED --prompt --json", shape=shapes.PROMPT),
    Row("turns diff LOOKED --json", shape=shapes.CHANGED_FILES),
    Row("turns diff LOOKED --stat"),
    Row("turns rewind LOOKED --dry-run --json", 1, out=""),  # it has changed no files
    Row("turns rewind LOOKED --undo --force --json", 1, out=""),
    Row("turns follow LOOKED", out="I looked.\n"),
    Row("turns follow LOOKED --json --timeout 9", shape=shapes.LINE, lines=True),
    Row("turns follow LOOKED --jsonl", shape=shapes.LINE, lines=True),
    Row("turns follow LOOKED -q --stream", out="I looked.\n"),
    Row("turns follow LOOKED --quiet --no-stream", out="I looked.\n"),
    Row("turns follow BROKEN", 1, out=""),
    Row("turns wait LOOKED", out="I looked.\n"),
    Row("turns wait LOOKED --timeout 5 --json -q", shape={**shapes.RESULT, "result": "I looked."}),
    Row("turns wait BROKEN --quiet", 1, out=""),
    Row("turns cancel LOOKED", 1, out=""),
    Row("turns cancel BROKEN --json", 1, out=""),
    Row("turns retry LOOKED", 1, out=""),
    Row("turns retry BROKEN --wait --timeout 60 --json", 1, {**shapes.RESULT, "status": "failed"}),
    Row("turns retry BROKEN --jsonl -q", 1, shapes.LINE, lines=True),
    Row("turns retry BROKEN --stream --quiet", 1, out=""),
    Row("turns retry BROKEN --no-stream", 1, out=""),
    Row("turns retry nosuch --no-wait", 2, out=""),
    Row("turns answer LOOKED --field seat=12A --call nosuch --request nosuch --no-wait --json", 1, out=""),
    Row("turns answer LOOKED --content {} --wait --timeout 1 --jsonl -q --stream", 1, out=""),
    Row("turns answer LOOKED yes --no-wait", 1, out=""),
    Row("turns answer LOOKED --choice 1 --no-wait", 1, out=""),
    Row("turns answer LOOKED --accept --quiet --no-stream", 1, out=""),
    Row("turns answer LOOKED --decline", 1, out=""),
    Row("turns answer LOOKED --cancel", 1, out=""),
    Row("turns answer nosuch", 2, out=""),
    Row("turns approve LOOKED", 1, out=""),
    Row("turns approve LOOKED --call nosuch --wait --timeout 1 --json", 1, out=""),
    Row("turns approve LOOKED --no-wait --jsonl -q --stream", 1, out=""),
    Row("turns approve LOOKED --quiet --no-stream", 1, out=""),
    Row("turns approve LOOKED --session", 1, out=""),
    Row("turns approve LOOKED --always", 1, out=""),
    Row("turns approve LOOKED --session --always", 2, out=""),
    Row("turns deny LOOKED --call nosuch --wait --timeout 1 --json", 1, out=""),
    Row("turns deny LOOKED --no-wait --jsonl -q --stream", 1, out=""),
    Row("turns deny LOOKED --quiet --no-stream", 1, out=""),
    Row("turns deny LOOKED --reason No.", 1, out=""),
    # --- approvals
    Row("approvals add deny nosuchcommand --workdir ."),
    Row("approvals add deny nosuchcommand2 --anywhere"),
    Row("approvals add sometimes nosuchcommand", 2, out=""),
    Row("approvals list -n 1"),
    Row("approvals list --json", shape=list),
    Row("approvals remove 99", 2, out=""),
    Row("approvals test ls --mode plan --unattended --workdir . --json", shape=shapes.RULING),
    # --- processes
    Row("processes list --all -n 1 --json", shape=[]),
    Row("processes list", out=""),
    Row("processes read nosuch -n 1 --json", 2, out=""),
    Row("processes read nosuch -f", 2, out=""),
    Row("processes read nosuch --follow", 2, out=""),
    Row("processes kill nosuch --json", 2, out=""),
    Row("processes kill --all", out=""),
    # --- forgetting
    Row("redact nosuchword --dry-run --why test --json", shape=shapes.FORGOTTEN),
    Row("redact nosuch.ord --regex --force --yes --json", shape=shapes.FORGOTTEN),
    Row("redact nosuchword -y", out=""),
    Row("sessions delete nosuch --with-forks -y", 2, out=""),
    Row("sessions delete SESSION --dry-run --why test --with-forks --json", shape=shapes.FORGOTTEN),
    Row("sessions delete nosuch --yes --json", 2, out=""),
    # --- service, help
    Row("service status --json", shape=shapes.SERVICE),
    Row("service install --print --for systemd"),
    Row("service remove", out=""),
    Row("help exit-codes"),
    Row("help nosuch", 2, out=""),
    # --- sessions
    Row("sessions list --all -n 1 --json", shape=[shapes.SESSION]),
    Row("sessions list --since yesterday -n 1 --json", shape=[shapes.SESSION]),
    Row("sessions show SESSION -n 2 --json", shape={**shapes.SESSION, "messages": [shapes.MESSAGE]}),
    Row("sessions show TITLE"),
    Row("sessions show nosuch", 2, out=""),
    Row("sessions rename SESSION TITLE --json", shape={**shapes.SESSION, "title": "Title"}),
    Row("sessions rename OTHER title", 1, out=""),
    Row("sessions rename SESSION EMPTY", 2, out=""),
    Row("sessions fork SESSION --at 3 --json", shape={**shapes.SESSION, "at": 3, "num_turns": 0}),
    Row("sessions fork SESSION"),
    Row("sessions fork SESSION --at 1", 2, out=""),
    Row("sessions fork SESSION --before LOOKED --json", shape={**shapes.SESSION, "at": int, "num_turns": 0}),
    Row("sessions end ENDED --json", shape={**shapes.SESSION, "status": "ended"}),
    Row("sessions export SESSION --output session.jsonl", out=""),
    Row("sessions export OTHER -o other-session.jsonl --force", out=""),
    Row("sessions export nosuch", 2, out=""),
    Row("sessions export OTHER --format md --tools -o -"),
    Row("sessions export OTHER --format html --no-tools -o -"),
    Row("export -s SESSION --session TITLE -", shape=shapes.EXPORTED, lines=True),
    Row(
        "export --format sharegpt --since 2020-01-01 --no-system -",
        shape=(shapes.CONVERSATION, shapes.RATED_CONVERSATION),
        lines=True,
    ),
    Row("export --format openai --no-system -", shape=dict, lines=True),
    Row("export --format preferences -", out=""),
    Row("export --system --force all.jsonl.gz", out=""),
    Row("export --since 2020-01-01 other.jsonl", 2, out=""),
    Row("backup home.zip", out=""),
    Row("backup --force again.zip", out=""),
    Row("import own.jsonl --resume --sessions --json", shape=shapes.IMPORTED),
    Row("import own.jsonl --yes --anyway --json", shape=shapes.IMPORTED),
    Row("import own.jsonl -y", out=""),
    Row("import hi.txt", 2, out=""),
    Row("restore hi.txt --resume --yes --anyway --json", 2, out=""),
    Row("restore nosuch.zip -y", 2, out=""),
    Row("import nosuch.jsonl", 2, out=""),
    # --- held
    Row("held list --json", shape=[]),
    Row("held list --all -n 1", out=""),
    Row("held show nosuch -n 1 --json", 2, out=""),
    Row("held keep nosuch --json", 2, out=""),
    Row("held drop nosuch --json", 2, out=""),
    # --- inbox
    Row("inbox list --json", shape=[shapes.DELIVERY]),
    Row("inbox list --all -n 1"),
    Row("inbox read -n 1 --json", shape=[shapes.DELIVERY]),
    Row("inbox read DELIVERY --json", shape=[{**shapes.DELIVERY, "text": "I looked."}]),
    Row("inbox read"),
    Row("inbox read nosuch", 2, out=""),
    Row("inbox show DELIVERY --json", shape={**shapes.DELIVERY, "text": "I looked."}),
    Row("inbox show nosuch -n 1", 2, out=""),
    Row("show nosuch -n 1", 2, out=""),
    # --- keys
    Row("keys add phone --scope read --scope approve --json", shape=dict),
    Row("keys add Phone", 2, out=""),
    Row("keys add phone2 --budget lots", 2, out=""),
    Row("keys edit nosuch --budget none --json", 2, out=""),
    Row("keys edit nosuch --budget lots", 2, out=""),
    Row("keys edit nosuch", 2, out=""),
    Row("keys list -n 1 --json", shape=list),
    Row("keys revoke nosuch --json", 2, out=""),
    # --- push
    Row("push list -n 1 --json", shape=list),
    Row("push remove nosuch --json", 2, out=""),
    Row("push test --json", 2, out=""),
    # --- triggers
    Row("changed --key hook hi.txt", out="new     hi.txt\n"),
    Row(
        "triggers add builds --task Look --debounce 1s --deliver cli --workdir . --toolsets files"
        " --replace --json",
        shape=object,
    ),
    Row("triggers add builds --task Look --session nosuch -m other --budget 1", 2, out=""),
    Row("triggers add builds --task Look --model other --debounce never", 2, out=""),
    Row(
        "triggers edit made --task Look2 --debounce none --deliver cli --workdir . --toolsets none"
        " -m none --budget none --json",
        shape=object,
    ),
    Row(
        "triggers add hooked --task Look --hook --on-event push --if-field a=b --replace --json", shape=object
    ),
    Row("triggers add unhooked --task Look --no-hook --replace", out=""),
    Row("triggers add unhooked --task Look --if-field a=b --replace", 2, out=""),
    Row("triggers add unhooked --task Look --hook --if-field a --replace", 2, out=""),
    Row("triggers edit nosuch --hook --on-event push --if-field a=b", 2, out=""),
    Row("triggers edit nosuch --no-hook", 2, out=""),
    Row("triggers edit builds", 2, out=""),
    Row("triggers edit nosuch --session nosuch --model other", 2, out=""),
    Row("triggers edit builds --debounce 2d", 2, out=""),
    Row("triggers list -n 1 --json", shape=list),
    Row("triggers show nosuch -n 1 --json", 2, out=""),
    Row("triggers pause nosuch", 2, out=""),
    Row("triggers resume nosuch", 2, out=""),
    Row("triggers remove nosuch", 2, out=""),
    Row("trigger nosuch -f hi.txt --key k --wait --timeout 60 --json", 2, out=""),
    Row("trigger nosuch --file hi.txt --no-wait --jsonl --stream", 2, out=""),
    Row("trigger nosuch --no-stream -q", 2, out=""),
    Row("trigger nosuch --quiet", 2, out=""),
    Row("show DELIVERY --json", shape={**shapes.DELIVERY, "text": "I looked."}),
    Row("show nosuch", 2, out=""),
    # --- the rest
    Row("queues -n 1 --json", shape=shapes.QUEUES),
    Row("tools -n 1 --json", shape={"tools": [shapes.TOOL], "unusable": []}),
    Row("tools nosuch", out=""),
    Row("run metrics"),
    Row("open --print", 2, out=""),
    Row("run metrics --address 192.0.2.1 --port 9464", 2, out=""),
    Row("report"),
    Row("report --since 2020-01-01 --json", shape=shapes.REPORT),
    Row("report --html report.html", out=""),
    Row("report --html report.html --json", 2, out=""),
    Row("report --since 2999-01-01", 2, out=""),
    Row("doctor --live --json", shape=shapes.DOCTOR),
    Row("models"),
    Row("models list scripted -n 1 --json", shape=shapes.MODELS),
    Row("models forget-limits nosuch --json", shape={"forgotten": []}),
    Row("log events -n 2 --json", shape=shapes.EVENT, lines=True),
    Row("log events --after 1 --stream session-SESSION --json", shape=shapes.EVENT, lines=True),
    Row("log events --stream nosuch", 2, out=""),
    Row("log events --after before", 2, out=""),
    Row("log events verify --json", shape=shapes.VERIFIED),
    Row("log views status --json", shape=shapes.VIEWS),
    Row("log views rebuild --json", shape=shapes.VIEWS),
    Row("config show --origin -n 3 --json", shape=dict),
    Row("config show --json", shape=dict),
    Row("config path --json", shape=str),
    Row("config get terminal.timeout --json", shape=int),
    Row("config get nosuch", 2, out=""),
    Row("config unset nosuch", 2, out=""),
    Row("config edit nothing", 2, out=""),
    Row("config set agent.max_iterations 12", out=""),
    Row("config set agent.max_iteration 12", 2, out=""),
    Row("completion bash"),
    Row("completion zsh"),
    Row("completion fish"),
    Row("completion tcsh", 2, out=""),
    Row("--version"),
    Row("nosuch", 2, out=""),
)


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dict[str, str]]]:
    """A home with a turn that used a tool, one that failed, an ended session, and a trigger; and their
    names."""
    server = ModelServer(SCRIPT).start()
    home = Home(tmp_path_factory.mktemp("interface"), endpoint(server.base_url))
    (home.work / "hi.txt").write_text("Hi")
    application = Application(load(home.environ), home.environ)
    with closing(application), InlineWorker(application) as worker:
        for turn, text in (("tlooked", "Look"), ("tbroken", "Break"), ("trated", "Hi"), ("tended", "Hi")):
            command = TurnSubmitted(
                turn=turn,
                session=f"s{turn}",
                text=text,
                source="cli",
                opening=Opening(workdir=str(home.work)),
                deliver=("cli",) if text == "Look" else (),
            )
            worker.engine.submit(command)
            worker.drain()
        worker.engine.execute("session-stended", c.EndSession())
        own = export_log(sql_log(application), version="test", made_at="now")
        (home.work / "own.jsonl").write_bytes(b"".join(own))
        rename_session(worker.engine, "stlooked", "Title")  # last, so that --continue finds an open session
    assert home.run("triggers", "add", "made", "--task", "Look").code == 0
    turns = {"LOOKED": "tlooked", "BROKEN": "tbroken", "RATED": "trated", "DELIVERY": "dtlooked"}
    sessions = {"SESSION": "stlooked", "OTHER": "stbroken", "ENDED": "stended"}
    yield home, {**turns, **sessions, "TITLE": "Title", "EMPTY": " "}
    server.close()


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.line, marks=row.marks if at % 3 == 0 else (*row.marks, pytest.mark.slow))
        for at, row in enumerate(TABLE)
    ],
)
def test_each_command_keeps_its_interface(row: Row, there: tuple[Home, dict[str, str]]) -> None:
    home, names = there
    ran = home.run(*(named(word, names) for word in row.line.split()), stdin=row.stdin)
    assert ran.code == row.code, ran
    assert "Traceback" not in ran.err
    assert (ran.code in {0, 1, 3}) or ran.err.strip(), "a refusal without a word"
    if row.out is not None:
        assert ran.out == row.out
    if row.shape is not None:
        values = [json.loads(line) for line in ran.out.splitlines()] if row.lines else [ran.json]
        assert values
        assert [shapes.complaint(value, row.shape) for value in values] == [None] * len(values)
        if row.shape not in NOT_OURS:
            assert shapes.ids_without_a_name(values) == []


NOT_OURS = (
    (shapes.CONVERSATION, shapes.RATED_CONVERSATION),
    shapes.EVENT,
    shapes.EXPORTED,
    shapes.LINE,
    shapes.PROMPT,
)
"""Shapes with names of others in them: training data, tools and their calls."""


def named(word: str, names: dict[str, str]) -> str:
    """The word, with the id that its name stands for."""
    prefix, dash, name = word.rpartition("-")
    return names.get(word) or (prefix + dash + names[name] if dash and name in names else word)


def commands(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group) and not command.invoke_without_command:
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


@pytest.mark.parametrize(
    ("name", "command"),
    [each for each in commands(hermes_jobs) if not {each[0], each[0].split()[0]} & ELSEWHERE],
)
def test_every_flag_of_a_command_is_in_the_table(name: str, command: click.Command) -> None:
    words = {word for row in TABLE if row.line.startswith(name) for word in row.line.split()}
    assert words, f"{name} is in no row"
    flags = {
        flag
        for each in command.params
        if isinstance(each, click.Option)
        for flag in (*each.opts, *each.secondary_opts)
    }
    endless = {"--watch", "--follow", "-f"} if name in {"queues", "log events"} else set()
    assert flags - words - endless == set()
