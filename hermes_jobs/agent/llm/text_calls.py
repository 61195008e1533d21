"""Separates textual tool calls from a model's text while it arrives in pieces.

The result depends on the text only, not on its division into pieces. White space around a call is dropped
with it, except between two texts.
"""

from __future__ import annotations

from hermes_jobs.agent.llm.call_forms import FORMS, Braces, Form, Opened, WrittenCall


class TextCallFilter:
    """Takes text piece by piece and returns the text without calls. One
    instance per answer, for one thread.
    """

    def __init__(self) -> None:
        self.calls: list[WrittenCall] = []
        self._before = ""  # the character before the held text: a backtick there makes it a quotation
        self._held = ""
        self._open: tuple[Form, Opened] | None = None  # the call whose opening begins the held text
        self._spaces = ""  # white space that may surround a call
        self._shown = False
        self._after_call = False

    def feed(self, text: str) -> str:
        """Handle the next piece; returns the text to show. A possible part of a call is held back."""
        self._held += text
        return self._read(final=False)

    def finish(self) -> str:
        """Handle the end of the text: the held text is parsed as it is."""
        rest = self._read(final=True)
        return rest if self.calls else rest + self._spaces

    def _read(self, *, final: bool) -> str:
        shown: list[str] = []
        while self._held:
            if self._open is None:
                shown.append(self._show(self._until_opening(final=final)))
            if self._open is None:
                break
            form, opened = self._open
            read = form.read(self._held, opened, final)
            if read is None:
                break
            text = self._taken(read.end)
            self._open = None
            if not read.calls:
                shown.append(self._show(text))
            else:
                self.calls += read.calls
                self._after_call = True
        return "".join(shown)

    def _until_opening(self, *, final: bool) -> str:
        """The text before the next opening, or before a possible beginning of one."""
        text, offset = self._before + self._held, len(self._before)
        found = [(match, form) for form in FORMS if (match := form.opening.search(text, offset))]
        if not found:
            begun = [match.start() for form in FORMS if (match := form.beginning.search(text, offset))]
            return self._taken((len(text) if final else min(begun, default=len(text))) - offset)
        match, form = min(found, key=lambda each: each[0].start())
        self._open = (form, Opened(match.groupdict().get("name", ""), Braces(len(match[0]))))
        return self._taken(match.start() - offset)

    def _taken(self, end: int) -> str:
        text, self._held = self._held[:end], self._held[end:]
        self._before = text[-1:] or self._before
        return text

    def _show(self, text: str) -> str:
        """The text without white space next to a call."""
        if self._after_call:
            text = text.lstrip()
            if not self._shown:
                self._spaces = ""
        if not text:
            return ""
        self._after_call = False
        text = self._spaces + text
        body = text.rstrip()
        self._spaces = text[len(body) :]
        self._shown = self._shown or bool(body)
        return body
