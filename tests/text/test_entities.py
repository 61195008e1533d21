"""Entities that texts name, and the aliases by which later texts mean them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.text.entities import aliases, entities, names_it


@pytest.mark.parametrize(
    ("said", "asked", "name"),
    [
        ("My sister Anna lives in Ghent", "When is my sister's birthday?", "Anna"),
        ("The user's older sister, Anna Berg, is a nurse", "What does my sister do?", "Anna Berg"),
        ("Meine Schwester heißt Änne", "Where does my sister live?", "Änne"),
        ("Mi hermana se llama Lucía", "Wie alt ist meine Schwester?", "Lucía"),
        ("Ma sœur s'appelle Zoé", "and my sister?", "Zoé"),
        ("Anna is my sister", "a present for my sister", "Anna"),
        ("Dentist: Weber, Tuesdays only", "an appointment at the dentist", "Weber"),
        ("Mia sorella si chiama Gaia", "my sister", "Gaia"),
        ("Mijn zus heet Fien", "my sister", "Fien"),
        ("A minha irmã chama-se Rita", "my sister", "Rita"),
        ("My dog's name is Rex", "food for the dog", "Rex"),
        ("The backup server is nas3.local", "Is the backup machine up?", "nas3.local"),
        ("Runs on host db1.example", "restart db1 please", "db1.example"),
        ("Router at 192.168.1.1", "ping 192.168.1.1", "192.168.1.1"),
        ("The site is in /srv/www/garden", "build garden again", "/srv/www/garden"),
        ("Works on project Nordlicht", "How is nordlicht going?", "Nordlicht"),
        ("Uses the repo acme/rocket", "issues of acme/rocket", "acme/rocket"),
        ("Favourite colour: green", "Which colour shall the wall have?", "green"),
        ("Prefers tea over coffee", "Shall I make you a coffee?", "tea"),
    ],
)
def test_an_alias_in_a_question_means_the_entity(said: str, asked: str, name: str) -> None:
    known = {each.alias: each.name for each in entities(said)}
    assert name in {known[alias] for alias in aliases(asked) if alias in known}, known


@pytest.mark.parametrize(
    "text",
    [
        "My sister is Italian and tall",
        "my sister likes tea",
        "I saw a dog and a cat",
        "Version 1.2.3 is out; see and/or",
        "The file report.txt has 3.5 pages",
        "Our project is late",
        "e.g. this, i.e. that",
        "https://example.org/a/b is a page",
        "Mail anna@example.org",
        "she prefers to sleep",
    ],
)
def test_words_that_name_nothing_are_no_entities(text: str) -> None:
    assert not entities(text)


def test_a_name_is_found_in_whole_words() -> None:
    assert names_it("Ask ANNA.", "Anna")
    assert not names_it("Annabel called", "Anna")


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    assert all(each.name for each in entities(text))
    assert len(aliases(text)) <= 400
