"""`kill -9` while a curator looks through the skills, and while a person applies what it proposes."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.reviews.tables import select_reviews
from hermes_jobs.features.skills import events as skills_events
from hermes_jobs.kernel import events as e
from hermes_jobs.kernel.log.verify import verify
from hermes_jobs.settings import load
from tests.e2e.test_curator import ARCHIVE, curator, merge, text
from tests.e2e.test_skills import drop
from tests.faults.dying import KILLED, Sends, finish
from tests.home import Home
from tests.model_server import ModelServer

STRIDE = 1 if os.environ.get("FAULTS") == "full" else 4


@pytest.mark.slow
def test_a_curator_proposes_each_thing_once_and_it_is_applied_whole_whenever_its_process_is_killed(
    home: Home, model_server: ModelServer
) -> None:
    model_server.follow(curator((merge(), ARCHIVE)))
    home.path.mkdir(mode=0o700)
    for name in ("deploy-app", "deploy-web", "old-way"):
        drop(home, f"{name}/SKILL.md", text(name))
    application = Application(load(home.environ), home.environ)
    application.skills.sync()
    sends, code, at = Sends(), KILLED, 2 - STRIDE  # the first append asks for the review
    while code == KILLED:
        at += STRIDE
        code = sends.run(home.environ, home.work, [], at, "within", command=("reviews", "curate"))
        finish(application)
    assert code == 0
    assert at > 6, "there are more appends than that"
    counts = Counter(
        (recorded.stream, type(recorded.event)) for recorded in application.log.tail(limit=10_000)
    )
    reviews = [each.id for each in application.views.read(select_reviews)]
    for review in reviews:
        assert counts[f"session-{review}", e.ReviewStarted] == 1
        assert counts[f"session-{review}", e.ReviewCompleted] == 1
        assert counts[f"curation-{review}", skills_events.MergeProposed] == 1
        assert counts[f"curation-{review}", skills_events.ArchiveProposed] == 1

    code, at = KILLED, 0
    while code == KILLED:
        at += 1
        code = sends.run(home.environ, home.work, [reviews[0]], at, "within", command=("reviews", "apply"))
        applied = [each for each in _facts(application) if isinstance(each, skills_events.ProposalApplied)]
        skills = application.skills.of_home()
        assert (len(applied), skills["old-way"].is_archived) in {(0, False), (2, True)}
    assert code == 0
    assert sorted(application.skills.of_home()) == ["deploy", "deploy-app", "deploy-web", "old-way"]
    application.close()
    with home.open_log() as log:
        assert verify(log).findings == ()


def _facts(application: Application) -> list[e.Event]:
    return [recorded.event for recorded in application.log.tail(limit=100_000)]
