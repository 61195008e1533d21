"""Which skills are alike: by their words, whatever their order, in any script."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.features.skills.curator import MIN_SIMILARITY, similar_pairs

DEPLOY = "Run the tests, build the image, push it and restart the service."


def test_copies_are_alike_and_strangers_are_not() -> None:
    texts = {"a": DEPLOY, "b": DEPLOY.replace("restart", "reload"), "c": "How to write a polite letter."}
    [(one, other, likeness)] = similar_pairs(texts)
    assert (one, other) == ("a", "b")
    assert MIN_SIMILARITY <= likeness < 1


def test_words_that_all_have_in_common_count_for_little() -> None:
    frame = "--- name description when to use steps pitfalls --- "
    texts = {
        "tea": frame + "boil water, steep the green leaves, pour, wait",
        "tax": frame + "collect receipts, open the portal, sign the return",
        "git": frame + "rebase the branch, force push with lease, open a request",
    }
    assert similar_pairs(texts) == ()


@given(st.dictionaries(st.text("abc", min_size=1), st.text(), max_size=6))
def test_every_pair_is_named_once_with_a_share(texts: dict[str, str]) -> None:
    found = similar_pairs(texts)
    assert len({(one, other) for one, other, _ in found}) == len(found)
    for one, other, likeness in found:
        assert one < other
        assert MIN_SIMILARITY <= likeness <= 1


@given(st.text("abcdef ", min_size=1))
def test_a_text_is_as_like_its_copy_as_can_be(text: str) -> None:
    found = similar_pairs({"one": text, "two": text})
    assert found == () or found[0][2] > 0.999
