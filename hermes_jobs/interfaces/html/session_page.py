"""A conversation as a page: messages, and tool results, folded."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from markupsafe import Markup

from hermes_jobs.interfaces.html.render import Redact, prose, render


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """A message: of `user` or `assistant`, as Markdown, or of a `tool`, as plain text."""

    role: str
    heading: str
    text: str

    def prose(self, redact: Redact) -> Markup:
        """The text as HTML."""
        return prose(redact(self.text))


def session_page(title: str, about: str, messages: Sequence[Utterance], redact: Redact) -> str:
    """The page, as HTML. `about` is a line on the session."""
    return render(
        "session.html",
        redact,
        title=title,
        about=about,
        said=[
            (utterance, utterance.prose(redact) if utterance.role != "tool" else utterance.text)
            for utterance in messages
        ],
    )
