"""Separates `<think>…</think>` blocks from the answer while it arrives in pieces.

The result depends on the text only, not on its division into pieces. A tag right after a backtick is quoted:
an answer that explains `<think>` stays whole. A closing tag without an opening one is dropped, or ends
reasoning whose opening tag was in the template: see `end_of_unopened`. White space before the answer is
dropped with the block before it.
"""

from __future__ import annotations

import re

import msgspec

from hermes_jobs.text.tags import Tags

_TAGS = Tags("think", "thinking")


class Split(msgspec.Struct, frozen=True):
    """A piece of text, separated into answer and reasoning."""

    visible: str = ""
    reasoning: str = ""


class ReasoningFilter:
    """Takes text piece by piece and returns the parts that are decided. One instance per answer, for one
    thread.
    """

    def __init__(self) -> None:
        self._buffer = ""
        self._inside = False
        self._had_block = False
        self.had_stray = False
        """A closing tag came before any opening one; see `end_of_unopened`."""
        self._spaces: str | None = ""  # white space that may precede a block; None after visible text

    def feed(self, text: str) -> Split:
        """Handle the next piece. A possible beginning of a tag is held back."""
        return self._split(self._buffer + text, final=False)

    def finish(self) -> Split:
        """Handle the end of the text: held-back text is decided as it is."""
        rest = self._split(self._buffer, final=True)
        if self._spaces and not self._had_block:
            return Split(self._spaces + rest.visible, rest.reasoning)
        return rest

    def _split(self, text: str, *, final: bool) -> Split:
        visible: list[str] = []
        reasoning: list[str] = []
        pieces, self._buffer = _TAGS.split(text, final=final)
        for piece in pieces:
            if isinstance(piece, str):
                self._take(piece, visible, reasoning)
            else:
                self._turn(piece, visible, reasoning)
        return Split("".join(visible), "".join(reasoning))

    def _turn(self, tag: re.Match[str], visible: list[str], reasoning: list[str]) -> None:
        opening = not tag["close"]
        if self._inside and not opening:
            reasoning += [tag["tick"], "\n"]
            self._inside = False
        elif self._inside or tag["tick"]:
            self._take(tag[0], visible, reasoning)
        elif opening:
            self._inside = self._had_block = True
            if self._spaces:
                self._spaces = ""
        else:
            self.had_stray = self.had_stray or not self._had_block

    def _take(self, text: str, visible: list[str], reasoning: list[str]) -> None:
        if self._inside:
            reasoning.append(text)
        elif self._spaces is None:
            visible.append(text)
        elif not text.strip():
            self._spaces += text
        else:
            visible.append(text.lstrip() if self._had_block else self._spaces + text)
            self._spaces = None


_STRAY = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_ENDS_A_SENTENCE = ".!?…。！？\n"
_CONTINUES_SENTENCE = ".,;:!?)]}\"'`»”"


def end_of_unopened(text: str) -> tuple[str, str] | None:
    """Reasoning and answer of a text with an unopened closing tag; None if the tag is quoted.

    Templates that open the block themselves leave the model to close it. The tag closes a block if a line or
    a sentence ends before it, a line ends after it, or the answer follows without a blank; inside code it is
    quoted.
    """
    match = _STRAY.search(text)
    if match is None:
        return None
    before, after = text[: match.start()], text[match.end() :]
    if before.endswith("`") or before.count("```") % 2 or "<think" in before.lower():
        return None
    follows = after[:1]
    joined = bool(follows) and not follows.isspace() and follows not in _CONTINUES_SENTENCE
    if joined or follows in {"\n", "\r"} or before.rstrip(" ")[-1:] in tuple(_ENDS_A_SENTENCE):
        return before, after.lstrip()
    return None
