"""`kill -9` while a file tool writes: what was there before can always be restored."""

from __future__ import annotations

import pytest

from tests.faults.dying_writes import MOMENTS
from tests.home import Home
from tests.model_script import Answer, AskedCall, Rule, Script
from tests.model_server import ModelServer

WRITES = Answer(tool_calls=(AskedCall("write_file", {"path": "a.txt", "content": "new\n"}),))
SCRIPT = Script(rules=(Rule("write", (WRITES, Answer(text="It was interrupted."))),))


@pytest.mark.slow
@pytest.mark.parametrize("existed", [True, False])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_write_is_reported_and_can_be_reverted(
    home: Home, model_server: ModelServer, moment: str, existed: bool
) -> None:
    model_server.follow(SCRIPT)
    file = home.work / "a.txt"
    if existed:
        file.write_text("old\n")
        file.chmod(0o640)
    with home.launch("tests.faults.dying_writes", moment, "send", "write it") as dying:
        assert dying.end().code == -9
    (turn,) = [each["turn"] for each in home.run("turns", "list", "--json").json]
    assert home.run("turns", "wait", turn).code == 0
    written = moment == "replaced"
    assert file.exists() == (written or existed)
    diff = home.run("turns", "diff", turn)
    told = (
        "was killed; what it wrote, if anything, is not known here"
        if moment == "kept"
        else "a.txt: the last write was killed, and may not have happened."
    )
    assert told in diff.err
    rewound = home.run("turns", "rewind", turn)
    assert rewound.code == (1 if moment == "kept" else 0), rewound
    assert (file.read_text() if file.exists() else None) == ("old\n" if existed else None)
    assert not existed or file.stat().st_mode & 0o777 == 0o640
