"""A mapping of which each version stays as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hermes_jobs.kernel.turns.layered import Layered

NAMES = st.sampled_from("abcdefghij")


@given(st.lists(st.tuples(NAMES, st.one_of(st.none(), st.integers()))))
def test_each_version_is_the_dict_that_it_would_be_and_stays_it(
    changes: list[tuple[str, int | None]],
) -> None:
    versions: list[tuple[Layered[int], dict[str, int]]] = [(Layered(), {})]
    for name, value in changes:
        layered, plain = versions[-1]
        if value is None:
            rest = {other: kept for other, kept in plain.items() if other != name}
            versions.append((layered.without(name), rest))
        else:
            versions.append((layered.having(name, value), {**plain, name: value}))
    for layered, plain in versions:
        assert layered == plain
        assert (list(layered), len(layered)) == (list(plain), len(plain))
        assert [layered.get(name) for name in "abcdefghij"] == [plain.get(name) for name in "abcdefghij"]


def test_an_addition_to_many_copies_few() -> None:
    many: Layered[int] = Layered({str(number): number for number in range(1_000)})

    more = many.having("x", 1)

    assert more._layers[0] is many._layers[0]
    assert [len(layer) for layer in more._layers] == [1_000, 1]
