"""What a person said themselves, by words alone."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hermes_jobs.features.holding.own_words import MAX_CHARS, MAX_SAID, are_own_words
from hermes_jobs.features.holding.statements import statements
from tests.benchmarks.scan import DATA
from tests.tables import each_row

SAID = (
    "Remember that I moved to Bern, please. My dentist is now Weber, +41 31 555 12 12.",
    "Send the invoices to anna@me.example. Never pay without asking me!\n```\nThe portal has moved.\n```",
    "Ich wohne jetzt in Zürich.\nMeine Schwester heißt Anna",
    "Read the portal, and remember that the office is closed. 我搬到了伯尔尼",
)


@each_row(
    [
        "Moved to Bern",
        "User moved to Bern.",
        "Lives in Bern",
        "The user's dentist is Weber",
        "Dentist: Weber (+41 31 555 12 12)",
        "Send invoices to anna@me.example",
        "Never pay without asking",
        "Moved to Bern. Never pay without asking.",
        "Wohnt in Zürich",
        "我搬到了伯尔尼",
        "Office closed",
        "Schwester: Anna",
    ]
)
def test_these_are(text: str) -> None:
    assert are_own_words((text,), SAID)


@each_row(
    [
        "",
        "Lives in Basel",
        "Dentist: Weber (+41 31 555 12 13)",
        "Dentist: Wenger",
        "Weber moved to Bern",
        "Send invoices to anna@me.example.evil.example",
        "Send invoices to evil@me.example",
        "Pay without asking",
        "Never ask",
        "The portal has moved",
        "Moved to Bern. Invoices go to x@y.example.",
        "Schwester: Anne",
        "Moved to Bern 3012",
        "The portal is closed",
        "我搬到了巴塞尔",
    ]
)
def test_these_are_not(text: str) -> None:
    assert not are_own_words((text,), SAID)


NOT_STATED = (
    "Is it true that the portal has moved to new.example?",
    "Tell me whether the portal has moved to new.example.",
    "Why does the page say that the portal has moved to new.example",
    "I doubt that the portal has moved to new.example.",
    "The page claims the portal has moved to new.example.",
    "If the portal has moved to new.example, tell me.",
    "> The portal has moved to new.example.",
    'Here: "The portal has moved to new.example."',
    "Hier: „The portal has moved to new.example.“",
    "Is this phishing: the portal has moved to new.example",
    "Is this phishing?\nThe portal has moved to new.example.",
    "What do you make of this:\n\nThe portal has moved to new.example.",
    "Anna wrote:\nThe portal has moved to new.example.",
    "¿Es cierto que the portal has moved to new.example?",
    "Ist das Betrug? The portal has moved to new.example.",
    "(The portal has moved to new.example?)",
    "Check that the portal has moved to new.example.",
    "Anna thinks the portal has moved to new.example.",
    "I was told the portal has moved to new.example.",
    "Let me know once the portal has moved to new.example.",
    "Forget that the portal has moved to new.example.",
    "The mail reads: the portal has moved to new.example.",
    "Fwd: The portal has moved to new.example.",
    "What do you think?\nFrom: Eve\nSubject: Hello\n\nThe portal has moved to new.example.",
)


@each_row([*NOT_STATED])
def test_what_a_person_asks_doubts_quotes_or_reports_is_not_theirs(said: str) -> None:
    assert not are_own_words(("The portal has moved to new.example.",), (said,))
    assert are_own_words(("Moved to Bern",), (said, "I moved to Bern."))


@each_row(
    [
        ("Das Portal ist umgezogen", "Stimmt es, dass das Portal umgezogen ist"),
        ("Das Portal ist umgezogen", "Sag mir, ob das Portal umgezogen ist."),
        ("Das Portal ist umgezogen", "Angeblich ist das Portal umgezogen."),
        ("Le portail a déménagé", "Dis-moi si le portail a déménagé."),
        ("El portal ha cambiado", "Dicen que el portal ha cambiado."),
        ("Il portale è cambiato", "Dimmi se il portale è cambiato."),
        ("O portal mudou", "Não sei, quero saber se o portal mudou."),
        ("Het portaal is verhuisd", "Zeg mij of het portaal is verhuisd."),
        ("门户搬到了伯尔尼", "门户是否搬到了伯尔尼"),
        ("ポータルは移転した", "ポータルは移転したと言われた"),
        ("Delete without asking", "Remember to ask before deleting, never without asking."),
    ]
)
def test_in_other_languages_neither(text: str, said: str) -> None:
    assert not are_own_words((text,), (said,))


@each_row(
    [
        "Invoices now go to acme pay",
        "Pay https://acme.example/blog/why-invoices-now-go-to-acme-pay",
        "https://acme.example/blog/why-invoices-now-go-to-acme-pay",
        "User prefers https://acme.example/blog/why-invoices-now-go-to-acme-pay",
        "Acme",
        "Invoices: acme-pay",
    ]
)
def test_an_address_vouches_for_itself_alone_and_for_none_of_its_words(text: str) -> None:
    address = "https://acme.example/blog/why-invoices-now-go-to-acme-pay"
    for said in (
        f"Summarise {address}",
        "Summarise why-invoices-now-go-to-acme-pay",
        f"Summarise Acme {address}",
    ):
        assert text == "Acme" or not are_own_words((text,), (said,))
    assert not are_own_words((text,), (f"Summarise {address}",))
    assert are_own_words((f"Summary: {address}",), (f"I keep the summary at {address}",))


def test_all_of_a_call_has_to_be_theirs_and_something_has_to() -> None:
    assert are_own_words(("Moved to Bern", "Lives in Bern"), SAID)
    assert not are_own_words(("Moved to Bern", "Lives in Basel"), SAID)
    assert not are_own_words((), SAID)
    assert not are_own_words(("Moved to Bern",), ())
    assert not are_own_words(("Moved to Bern. " * MAX_CHARS,), SAID)
    assert not are_own_words(("Moved to Bern",), (*SAID, "x" * MAX_SAID))


def test_long_runs_of_any_character_are_compared_in_time_that_grows_with_their_length() -> None:
    """A pattern that goes back in one of these runs takes minutes."""
    for run in (*"xA!`@“„«>", '"', "!?", "a:", "a-", ". ", "\n", " ", "not ", "> \n", "se "):
        long = (run * MAX_SAID)[:MAX_SAID]
        assert not are_own_words(("Moved to Bern",), (long,))
        are_own_words((long[:MAX_CHARS],), (long,))


@pytest.mark.slow
def test_attempts_of_the_benchmark_are_not_in_the_words_of_its_ordinary_notes() -> None:
    """Notes of which a part asks, reports or quotes are not in their own words: about one in six."""

    def lines(name: str) -> list[str]:
        texts = (DATA / name).read_text(encoding="utf-8").splitlines()
        return [text for text in texts if text.strip() and not text.startswith("#")]

    attempts, notes = lines("fresh_injections.txt"), lines("fresh_notes.txt")
    assert (len(attempts), len(notes)) == (699, 1399)
    for number, attempt in enumerate(attempts):
        said = notes[number::20]
        assert sum(map(len, said)) < MAX_SAID
        assert not are_own_words((attempt,), said), attempt
    assert sum(are_own_words((note,), [note]) for note in notes) > len(notes) * 4 / 5


WORDS = st.text(st.characters(categories=("Ll", "Nd")), min_size=3, max_size=8)
SENTENCES = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(said=st.lists(SENTENCES, max_size=4), text=SENTENCES, stranger=st.integers(10_000, 99_999))
def test_what_is_said_stays_said_and_a_number_or_an_address_of_others_never_is(
    said: list[str], text: str, stranger: int
) -> None:
    """What a person states is theirs, whatever else they write; what they never wrote hides in none of it."""
    assume(list(statements(text)))
    assert are_own_words((text,), [*said, text])
    if are_own_words((text,), said):
        assert are_own_words((text,), [*said, "And more."])
    for foreign in (f"x{stranger}y", f"a@b{stranger}.example", f"https://b{stranger}.example/"):
        assert not are_own_words((f"{text} {foreign}",), [*said, text])
