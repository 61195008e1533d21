r"""A text that holds marks of escapes itself (`\`, `%`, `&`), found however each character is written.

`readings` undo escapes from the left, and so lose such a mark where it is as it is before an escape: the
backslash and `\u001f` together look like `\\` and `u001f`. Here each mark is followed in both ways.
"""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.text.escapes import MARKS, characters_at


class Spelling:
    """One text. The time that a search takes grows with the length of what is searched."""

    def __init__(self, wanted: str, *, whole: bool, ignore_case: bool) -> None:
        """`whole`: not within a word."""
        self._ignore_case = ignore_case
        self._wanted = [self._folded(character) for character in wanted]
        self._open_before = not (whole and wanted[:1].isalnum())
        self._open_after = not (whole and wanted[-1:].isalnum())

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The begin and end of each place where it stands; of several begins of one end, the first."""
        pending: dict[int, dict[int, int]] = {}  # where to go on: how much is matched, since where
        begins = {each for each in set(text) if each in MARKS or any(self._continued({0: 0}, each))}
        for at, character in enumerate(text):
            if character not in begins and at not in pending:
                continue
            begun = pending.pop(at, {})
            begun[0] = at
            steps = [(at + 1, character), *(characters_at(text, at) if character in MARKS else ())]
            for end, written in steps:
                for matched, begin in self._continued(begun, written):
                    if matched < len(self._wanted):
                        later = pending.setdefault(end, {})
                        later[matched] = min(begin, later.get(matched, begin))
                    elif self._stands_alone(text, begin, end):
                        yield begin, end

    def _continued(self, begun: dict[int, int], written: str) -> Iterator[tuple[int, int]]:
        folded = [self._folded(character) for character in written]
        for matched, begin in begun.items():
            wanted = self._wanted[matched : matched + len(folded)]
            if wanted == folded or (written == "+" and wanted == [" "]):
                yield matched + len(folded), begin

    def _folded(self, character: str) -> str:
        return character.casefold() if self._ignore_case else character

    def _stands_alone(self, text: str, begin: int, end: int) -> bool:
        return (self._open_before or not _is_of_word(text[begin - 1 : begin])) and (
            self._open_after or not _is_of_word(text[end : end + 1])
        )


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"
