"""Recall by several tracks: by words, by what a text means without its name, and by vectors."""

from __future__ import annotations

import pytest

from hermes_jobs.kernel import events as e
from tests.e2e.invariants import assert_views_agree
from tests.home import Home
from tests.model_script import Refuse
from tests.model_server import ModelServer

CAR = "My automobile is a blue Saab of 1993"
QUESTION = "Which vehicle was it that I own?"


@pytest.fixture
def embedding(home: Home, model_server: ModelServer) -> Home:
    """A home whose embeddings come from the scripted server, and that recalls conversations."""
    for key, value in (
        ("embeddings.model", "text-embedding-3-small"),
        ("embeddings.threshold", "0.2"),
        ("memory.recall", "true"),
        ("models.prices.text-embedding-3-small", "{input: 1000, output: 0}"),
    ):
        assert home.run("config", "set", key, value).code == 0, key
    return home


def sent(server: ModelServer) -> str:
    return str(server.requests[-1].messages[-1]["content"])


def test_a_paraphrase_is_recalled_by_its_vector_alone(embedding: Home, model_server: ModelServer) -> None:
    said = embedding.send(CAR)
    embedding.send("We spoke about the weather in Lisbon")
    embedding.send(QUESTION)
    assert CAR not in sent(model_server), "no word is shared, and no vector is there"

    done = embedding.run("memory", "embed", "--json")
    assert (done.code, done.json["vectors"], done.json["failed"]) == (0, 3, None)
    asked = embedding.send("Remind me: what vehicle have I got?")

    assert CAR in sent(model_server)
    shown = embedding.run("turns", "show", asked["turn"], "--prompt", "--json").json
    assert {"turn": said["turn"], "tracks": ["meaning"]} in shown["recall"]
    assert f"turn {said['turn']}: by meaning" in embedding.run("turns", "show", asked["turn"], "--prompt").out
    with embedding.open_log() as log:
        assert_views_agree(log, embedding.path / "views")


def test_a_text_with_a_vector_is_not_embedded_again(embedding: Home, model_server: ModelServer) -> None:
    embedding.send(CAR)
    embedding.run("memory", "embed")
    assert len(model_server.embeddings) == 1
    assert embedding.run("views", "rebuild").code == 0
    assert embedding.run("memory", "embed", "--json").json["vectors"] == 1
    assert len(model_server.embeddings) == 1
    spent = embedding.run("usage", "--by", "purpose", "--json").json
    assert [row["cost_usd"] > 0 for row in spent if row["purpose"] == "embedding"] == [True], spent


def test_recall_works_without_vectors_and_says_so(embedding: Home, model_server: ModelServer) -> None:
    embedding.send(CAR)
    embedding.run("memory", "embed")
    model_server.no_embeddings = Refuse(status=500, message="The GPU is on fire.")

    turn = embedding.send("What colour is the Saab?")

    assert turn["status"] == "completed"
    assert CAR in sent(model_server), "its words are shared"
    told = embedding.run("turns", "show", turn["turn"], "--prompt").out
    assert "nothing by meaning: server: " in told
    assert "by words" in told


def test_a_final_refusal_is_shown(embedding: Home, model_server: ModelServer) -> None:
    embedding.send(CAR)
    model_server.no_embeddings = Refuse(status=401, message="Wrong key.")
    done = embedding.run("memory", "embed")
    assert done.code == 1
    assert "It stopped: auth: " in done.err
    model_server.no_embeddings = None
    assert embedding.run("memory", "embed", "--json").json["vectors"] == 1


def test_an_exhausted_budget_is_shown_before_any_call(embedding: Home, model_server: ModelServer) -> None:
    embedding.run("memory", "add", CAR)
    embedding.run("config", "set", "budgets.day_usd", "0.001")
    done = embedding.run("memory", "embed")
    assert done.code == 1
    assert "It stopped: budget: The budget is used up: budgets.day_usd allows $0.001;" in done.err
    assert model_server.embeddings == []
    embedding.run("config", "set", "budgets.day_usd", "1")
    assert embedding.run("memory", "embed", "--json").json["vectors"] == 1


def test_vectors_go_with_the_texts_that_are_forgotten(embedding: Home, model_server: ModelServer) -> None:
    said = embedding.send(CAR)
    embedding.send("We spoke about the weather in Lisbon")
    embedding.run("memory", "embed")
    with embedding.open_log() as log:
        (plan,) = [head.stream for head in log.streams("embedding-")]
        before = log.result(f"vectors:{plan.removeprefix('embedding-')}")
        assert before is not None
        assert all(before.split("\n"))

    assert embedding.run("sessions", "delete", said["session"], "--yes").code == 0

    with embedding.open_log() as log:
        after = log.result(f"vectors:{plan.removeprefix('embedding-')}")
        assert after is not None
        assert sorted(map(bool, after.split("\n"))) == [False, True]
    assert embedding.run("memory", "embed", "--json").json["vectors"] == 1
    assert embedding.run("events", "verify").code == 0


def test_an_entry_that_is_forgotten_leaves_no_vector(embedding: Home, model_server: ModelServer) -> None:
    embedding.run("memory", "add", CAR)
    embedding.run("memory", "embed")
    assert embedding.run("memory", "forget", "1", "--yes").code == 0
    with embedding.open_log() as log:
        (plan,) = [head.stream for head in log.streams("embedding-")]
        assert log.result(f"vectors:{plan.removeprefix('embedding-')}") == ""


def test_vectors_go_along_with_an_exported_log(embedding: Home, model_server: ModelServer) -> None:
    embedding.run("memory", "add", CAR)
    embedding.run("memory", "embed")
    exported = str(embedding.work / "log.jsonl")
    assert embedding.run("export", exported).code == 0
    other = {"HERMES_JOBS_HOME": str(embedding.work / "other")}
    assert embedding.run("import", exported, "--yes", **other).code == 0
    embedding.run("config", "set", "embeddings.model", "text-embedding-3-small", **other)
    embedding.run("config", "set", "model.base_url", model_server.base_url, **other)
    assert embedding.run("memory", "embed", "--json", **other).json["vectors"] == 1
    assert len(model_server.embeddings) == 1


def test_a_provider_without_embeddings_is_named(home: Home) -> None:
    home.run("config", "set", "embeddings.model", "anthropic:claude-haiku-4-5")
    home.run("memory", "add", CAR)
    done = home.run("memory", "embed", ANTHROPIC_API_KEY="sk-ant-api03-nobody")
    assert done.code == 1
    assert "It stopped: unsupported: Anthropic makes no embeddings." in done.err


def test_without_a_model_nothing_is_embedded(home: Home, model_server: ModelServer) -> None:
    home.send(CAR)
    done = home.run("memory", "embed")
    assert done.code == 2
    assert "Embeddings are off." in done.err
    assert model_server.embeddings == []


def test_an_entry_is_recalled_by_its_meaning(embedding: Home, model_server: ModelServer) -> None:
    embedding.run("config", "set", "memory.memory_chars", "60")
    for text in (CAR, "The house has a green door", "Lunch is at noon on weekdays in the office"):
        assert embedding.run("memory", "add", text).code == 0
    embedding.run("memory", "embed")

    turn = embedding.send("Do you know which vehicle is mine?")

    assert f": {CAR}" in sent(model_server)
    with embedding.open_log() as log:
        (fact,) = [each.event for each in log.tail(0, 1000) if isinstance(each.event, e.ContextPrefetched)]
    assert fact.recall == (e.RecalledItem("memory", "1", ("meaning",)),)
    assert turn["cost_usd"] is None or turn["cost_usd"] > 0


def test_an_alias_is_recalled_by_its_name(home: Home, model_server: ModelServer) -> None:
    home.run("config", "set", "memory.recall", "true")
    home.send("My sister Anna moved to Ghent")
    gift = home.send("Anna wants a telescope one day")
    home.send("The weather is fine in Lisbon")

    asked = home.send("What could I give to meiner Schwester?")

    assert "Anna wants a telescope one day" in sent(model_server)
    shown = home.run("turns", "show", asked["turn"], "--prompt", "--json").json
    assert {"turn": gift["turn"], "tracks": ["entities"]} in shown["recall"]
    with home.open_log() as log:
        assert_views_agree(log, home.path / "views")


def test_an_entry_is_recalled_by_whom_it_names(home: Home, model_server: ModelServer) -> None:
    home.run("config", "set", "memory.memory_chars", "40")
    home.run("memory", "add", "Anna has been vegan since 2019")
    home.run("memory", "add", "My sister Anna lives in Ghent")
    home.run("memory", "add", "Lunch is at noon on all weekdays")

    turn = home.send("Cook something for my sister")
    assert ": Anna has been vegan since 2019" in sent(model_server)
    shown = home.run("turns", "show", turn["turn"], "--prompt").out
    assert "entry of memory write 1: by entities" in shown

    home.run("memory", "remove", "Anna lives")
    home.send("Cook something for my sister")
    assert "Anna has been vegan" not in sent(model_server), "nothing says who the sister is"
