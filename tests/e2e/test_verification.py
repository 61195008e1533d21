"""Provisional learning: what a review saves is tried out on past turns, and kept or proposed for removal."""

from __future__ import annotations

import json
import signal
from datetime import datetime
from typing import Any

import pytest

from tests.faults.crew import wait_until
from tests.home import Home
from tests.model_script import Answer, AskedCall, Refuse, Seen
from tests.model_server import ModelServer

ENTRY = "Likes answers in one word."
SKILL = """---
name: weather
description: How the weather is looked up.
---
# Weather
Look out of the window.
"""
REVIEW = "This is a review of the conversation"
SAVING = AskedCall("memory", {"action": "add", "target": "user", "content": ENTRY})
WRITING = AskedCall("skill_manage", {"action": "create", "name": "weather", "content": SKILL})


class Talker:
    """Answers turns, and saves in a review. `harm`: an unrelated turn that knows the entry wants a tool."""

    def __init__(self, *saves: AskedCall, harm: bool = False, judged: str = "same") -> None:
        self.saves = saves
        self.harm = harm
        self.judged = judged

    def __call__(self, seen: Seen) -> Answer:
        if seen.messages[0]["content"].startswith("You compare two answers"):
            return Answer(text=json.dumps({"better": self.judged}))
        if REVIEW in seen.last_user_text:
            return Answer(tool_calls=self.saves) if seen.rounds == 0 else Answer(text="Saved it.")
        knows = ENTRY in seen.messages[0]["content"]
        if self.harm and knows and "capital" in seen.last_user_text:
            return Answer(tool_calls=(AskedCall("terminal", {"command": "echo paris"}),))
        return Answer(text="Rain." if knows else "It will rain, I am afraid.")


@pytest.fixture
def learned(home: Home, model_server: ModelServer) -> Any:
    """Two conversations, the second of which was reviewed; gives a function that says so with a talker. The
    empty mode is the default."""

    def have(talker: Any, mode: str = "", **settings: str) -> str:
        model_server.follow(talker)
        home.send("What is the capital of France?", HERMES_JOBS_MEMORY__NUDGE_INTERVAL="0")
        home.environ.update(
            {"HERMES_JOBS_LEARNING__VERIFY": mode} if mode else {},
            HERMES_JOBS_MEMORY__NUDGE_INTERVAL="1",
            **settings,
        )
        home.send("How will the weather be, in a word?")
        (review,) = home.run("reviews", "list", "--json").json
        return str(review["review"])

    return have


def own_skills(home: Home) -> list[Any]:
    """The skills of the home, without those that come with the program."""
    return [each for each in home.run("skills", "list", "--json").json if each["name"] == "weather"]


def findings(home: Home) -> dict[str, str]:
    """How each thing stands, by the newest verification's facts."""
    events = [json.loads(line) for line in home.run("events", "--json").out.splitlines()]
    found = [each["data"]["findings"] for each in events if each["type"] == "LearningVerified"]
    return {f"{each['kind']}:{each['name']}": each["standing"] for each in found[-1]}


def test_saved_items_are_verified_by_replays_with_and_without_them(
    home: Home, model_server: ModelServer, learned: Any
) -> None:
    review = learned(Talker(SAVING, WRITING, harm=True))
    assert findings(home) == {"memory:1": "harmful", "skill:weather": "kept"}
    rows = home.run("usage", "--by", "purpose", "--json").json
    assert {row["purpose"]: row["requests"] for row in rows} == {"turn": 2, "review": 2, "verify": 6}
    shown = home.run("experiments", "show", f"verify-{review}", "--json").json
    assert (shown["status"], len(shown["turns"]), shown["judge"]) == ("completed", 2, None)
    assert home.run("events", "verify").code == 0


def test_nothing_is_provisional_or_asked_for_where_it_is_off(home: Home, learned: Any) -> None:
    learned(Talker(SAVING, WRITING), mode="off")
    out = home.run("events", "--json").out
    assert '"provisional":true' not in out
    assert "experiment-" not in out


@pytest.mark.parametrize(("judged", "standing"), [("same", "kept"), ("nonsense", "open")])
def test_a_judge_compares_each_answer_several_times(
    home: Home, model_server: ModelServer, learned: Any, judged: str, standing: str
) -> None:
    learned(Talker(SAVING, judged=judged), mode="full")
    assert findings(home) == {"memory:1": standing}
    judging = "You compare two answers"
    judgements = [seen for seen in model_server.requests if seen.messages[0]["content"].startswith(judging)]
    assert len(judgements) == 2 * 3


def test_a_harmful_item_is_proposed_everywhere_and_one_command_removes_it(home: Home, learned: Any) -> None:
    review = learned(Talker(SAVING, WRITING, harm=True))
    shown = home.run("memory", "show")
    assert f"{ENTRY}  (harmful: worse with it in 1 of 2 turns" in shown.out, shown
    why = home.run("memory", "why", "one word")
    for told in ("tried out: harmful", "1 worse", f"reviews apply {review}", f"reviews keep {review}"):
        assert told in why.out, why
    [entry] = home.run("memory", "why", "one word", "--json").json
    [write] = entry["writes"]
    assert (write["provisional"], write["tried_out"]["standing"]) == (True, "harmful")
    curated = home.run("memory", "curate")
    assert "harmful" in curated.out
    assert f"reviews keep {review}" in curated.err
    [proposal] = home.run("memory", "curate", "--json").json
    assert (proposal["rule"], proposal["entry"], proposal["by_policy"]) == ("harmful", ENTRY, False)
    shown = home.run("reviews", "show", review)
    assert "Tried out" in shown.out
    assert f"reviews apply {review}" in shown.err
    applied = home.run("reviews", "apply", review, "--json")
    assert (applied.code, [each["keep"] for each in applied.json["tried_out"]]) == (0, [False, None]), applied
    assert ENTRY not in home.run("memory", "show").out
    again = home.run("reviews", "apply", review)
    assert (again.code, "is proposed to be undone" in again.err) == (1, True), again
    assert home.run("events", "verify").code == 0


def test_one_command_keeps_a_harmful_item(home: Home, learned: Any) -> None:
    review = learned(Talker(SAVING, harm=True))
    kept = home.run("reviews", "keep", review)
    assert (kept.code, f"Kept: entry “{ENTRY}”." in kept.err) == (0, True), kept
    assert "harmful" not in home.run("memory", "show").out
    assert home.run("memory", "curate", "--json").json == []
    assert "tried out: kept by you" in home.run("memory", "why", "one word").out


def test_skills_why_shows_the_origin_and_the_verdict(home: Home, learned: Any) -> None:
    review = learned(Talker(WRITING))
    why = home.run("skills", "why", "weather")
    for told in (
        "1. created",
        f"review {review} (1 turn since the last), by scripted",
        "you said: How will the weather be, in a word?",
        "tried out: kept, it did no harm in 2 turns",
        "2 comparisons: 0 better, 0 worse, 2 the same",
    ):
        assert told in why.out, why
    assert "hermes-jobs skills undo weather" in why.err
    found = home.run("skills", "why", "weather", "--json").json
    [write] = found["writes"]
    assert (found["name"], found["use"]["uses"], write["review"]) == ("weather", 0, review)
    assert [turn["unrelated"] for turn in write["turns"]] == [False, True]
    assert write["tried_out"]["standing"] == "kept"
    [row] = own_skills(home)
    assert (row["status"], row["provisional"]) == ("active", "")
    taken = home.run("reviews", "apply", review, "--only", "1")
    assert (taken.code, "Undone: skill weather." in taken.err) == (0, True), taken
    assert own_skills(home) == []
    assert "undone" in home.run("skills", "why", "weather").out
    unknown = home.run("skills", "why", "nosuch")
    assert (unknown.code, "nosuch" in unknown.err) == (2, True), unknown


PRICES = json.dumps({"scripted": {"input": 1000, "output": 1000}})


def test_without_a_budget_it_stays_provisional_and_continues_with_one(
    home: Home, model_server: ModelServer, learned: Any
) -> None:
    review = learned(
        Talker(SAVING, WRITING),
        HERMES_JOBS_LEARNING__BUDGET_USD="0.001",
        HERMES_JOBS_MODELS__PRICES=PRICES,
    )
    assert findings(home) == {"memory:1": "open", "skill:weather": "open"}
    assert len(model_server.requests) == 4
    assert "provisional: " in home.run("memory", "show").out
    shown = home.run("reviews", "show", review)
    for told in (f"experiments run verify-{review}", f"reviews keep {review} --only N"):
        assert told in shown.err, shown
    [skill] = own_skills(home)
    assert skill["provisional"].startswith("provisional: The budget is used up")
    assert "Learned" in home.run("skills", "show", "weather").out
    ran = home.run("experiments", "run", f"verify-{review}", "--budget", "500")
    assert ran.code == 0, ran
    assert findings(home) == {"memory:1": "kept", "skill:weather": "kept"}
    assert "provisional" not in home.run("memory", "show").out


def test_an_item_changed_since_is_not_removed(home: Home, learned: Any) -> None:
    review = learned(Talker(SAVING, harm=True))
    assert home.run("memory", "replace", "one word", "Likes answers in two words.").code == 0
    taken = home.run("reviews", "apply", review)
    assert (taken.code, "was changed or removed since" in taken.err) == (1, True), taken
    unknown = home.run("reviews", "keep", review, "--only", "9")
    assert (unknown.code, "There is no number 9." in unknown.err) == (2, True), unknown


def test_the_memory_curator_removes_and_restores_a_harmful_entry(home: Home, learned: Any) -> None:
    review = learned(Talker(SAVING, harm=True))
    done = home.run("memory", "curate", "--only", "1")
    assert (done.code, "Done: 1 change to the memory." in done.err) == (0, True), done
    [found] = home.run("reviews", "show", review, "--json").json["tried_out"]
    assert found["keep"] is False
    assert home.run("memory", "curate", "--undo").code == 0
    shown = home.run("memory", "show").out
    assert (ENTRY in shown, "harmful" in shown) == (True, False)


def test_items_saved_by_a_retried_review_are_verified_too(
    home: Home, model_server: ModelServer, learned: Any
) -> None:
    talker = Talker(SAVING)
    failing = [True]

    def answer(seen: Seen) -> Any:
        if REVIEW in seen.last_user_text and seen.rounds == 1 and failing:
            failing.clear()
            talker.saves = (WRITING,)
            return Refuse(status=400, message="no")
        if REVIEW in seen.last_user_text and seen.rounds == 1:
            return Answer(tool_calls=(WRITING,))
        return talker(seen) if seen.rounds < 2 else Answer(text="Saved it.")

    review = learned(answer)
    assert findings(home) == {"memory:1": "kept"}
    assert home.run("reviews", "retry", review).code == 0
    home.send("-c", "And tomorrow?", HERMES_JOBS_MEMORY__NUDGE_INTERVAL="0")
    assert findings(home) == {"skill:weather": "kept"}
    tried = home.run("reviews", "show", review, "--json").json["tried_out"]
    assert [each["experiment"] for each in tried] == [f"verify-{review}", f"verify-{review}-1"]


def test_turns_that_cannot_be_asked_again_leave_it_provisional_and_a_person_keeps_it(
    home: Home, model_server: ModelServer, learned: Any
) -> None:
    talker = Talker(SAVING)

    def answer(seen: Seen) -> Any:
        asked = "weather" in seen.last_user_text and REVIEW not in seen.last_user_text
        saved = any(REVIEW in each.last_user_text for each in model_server.requests)
        return Refuse(status=401, message="no") if asked and saved else talker(seen)

    review = learned(answer)
    assert findings(home) == {"memory:1": "open"}  # the unrelated turn could be asked
    [found] = home.run("reviews", "show", review, "--json").json["tried_out"]
    assert (found["pairs"], found["unknown"], found["why"].startswith("1 of 2")) == (2, 1, True), found
    assert home.run("reviews", "keep", review, "--only", "1").code == 0
    assert "provisional" not in home.run("memory", "show").out


def events_of(home: Home, kind: str) -> list[dict[str, Any]]:
    recorded = [json.loads(line) for line in home.run("events", "--json").out.splitlines()]
    return [each["data"] for each in recorded if each["type"] == kind]


def test_without_money_on_a_day_it_waits_for_the_next_one_and_says_so(
    home: Home, model_server: ModelServer, learned: Any
) -> None:
    review = learned(
        Talker(SAVING), HERMES_JOBS_LEARNING__BUDGET_USD="0.001", HERMES_JOBS_MODELS__PRICES=PRICES
    )
    run = ("experiments", "run", f"verify-{review}")

    waits = home.run(*run, "--budget", "500", HERMES_JOBS_BUDGETS__DAY_USD="0.001")

    assert (waits.code, "It is waiting until" in waits.err) == (1, True), waits
    assert "budgets.day_usd allows $0.001" in waits.err
    shown = home.run("experiments", "show", f"verify-{review}", "--json").json
    midnight = datetime.fromisoformat(shown["waits_until"]).astimezone()
    assert (shown["status"], midnight.hour, midnight.minute) == ("waiting", 0, 0)
    assert "waiting until" in home.run("experiments", "show", f"verify-{review}").out
    for told in (home.run("doctor").out, home.run("inbox", "list").err):
        assert f"verify-{review} is waiting until" in told
    with home.open_log() as log:
        times = {each.step.not_before for each in log.steps(f"experiment-verify-{review}")}
    assert times == {midnight.timestamp()}
    assert home.run("events", "verify").code == 0
    assert home.run(*run).code == 0
    assert findings(home) == {"memory:1": "kept"}
    assert "waiting" not in home.run("doctor").out


def test_a_persons_undo_ends_the_verification(home: Home, model_server: ModelServer, learned: Any) -> None:
    review = learned(
        Talker(SAVING, WRITING),
        HERMES_JOBS_LEARNING__BUDGET_USD="0.001",
        HERMES_JOBS_MODELS__PRICES=PRICES,
    )
    run = ("experiments", "run", f"verify-{review}", "--budget", "500")
    assert home.run(*run, HERMES_JOBS_BUDGETS__DAY_USD="0.001").code == 1

    assert home.run("memory", "undo", "1").code == 0
    assert home.run("experiments", "show", f"verify-{review}", "--json").json["status"] == "waiting"
    assert home.run("skills", "undo", "weather").code == 0

    shown = home.run("experiments", "show", f"verify-{review}", "--json").json
    assert shown["status"] == "cancelled"
    decided = events_of(home, "LearningDecided")
    assert [(each["kind"], each["name"], each["keep"]) for each in decided] == [
        ("memory", "1", False),
        ("skill", "weather", False),
    ]
    assert "tried out: undone" in home.run("memory", "why", "one word").out
    assert home.run("memory", "undo", "2").code == 0, "the undo is taken back"
    assert "provisional" not in home.run("memory", "show").out
    assert home.run("events", "verify").code == 0


def test_an_undo_of_a_harmful_item_ends_its_proposal(home: Home, learned: Any) -> None:
    review = learned(Talker(SAVING, harm=True))
    assert home.run("memory", "undo", "1").code == 0
    [found] = home.run("reviews", "show", review, "--json").json["tried_out"]
    assert (found["standing"], found["keep"]) == ("harmful", False)
    assert "answers worse" not in home.run("send", "-c", "Hm?", HERMES_JOBS_MEMORY__NUDGE_INTERVAL="0").err
    assert home.run("events", "verify").code == 0


def test_one_worker_runs_one_verification_after_the_other(home: Home, model_server: ModelServer) -> None:
    """Their steps' ids begin alike: `verify-v1-plan`, `verify-v2-plan`."""

    def reply(seen: Seen) -> Answer:
        if REVIEW not in seen.last_user_text:
            return Answer(text="Rain.")
        if seen.rounds:
            return Answer(text="Saved it.")
        entry = f"Asked {len(model_server.requests)} things."
        return Answer(
            tool_calls=(AskedCall("memory", {"action": "add", "target": "user", "content": entry}),)
        )

    model_server.follow(reply)
    with home.start("up", "--no-flower", "--no-beat", HERMES_JOBS_MEMORY__NUDGE_INTERVAL="1") as running:
        running.wait_for("hermes-jobs is up")
        for text in ("How will the weather be?", "And tomorrow?"):
            home.send(text)
            with home.open_log() as log:
                wait_until(lambda: not log.steps(), lambda: f"the end of {log.steps()}")
        running.signal(signal.SIGTERM)
        assert running.end().code == 0
    assert len(home.run("experiments", "list", "--json").json) == 2


def test_the_list_of_reviews_names_what_they_have_saved(home: Home, learned: Any) -> None:
    learned(Talker(SAVING, WRITING), mode="off")
    listed = home.run("reviews", "list").out
    assert f"“{ENTRY}”, skill weather" in listed
