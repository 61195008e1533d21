"""Renders templates. All values are redacted, then escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from hermes_jobs.kernel.turns.titles import printable
from hermes_jobs.text import figures

TEMPLATES = Path(__file__).parent / "templates"

Redact = Callable[[str], str]


class Frame(NamedTuple):
    """What stands around a page: a folder whose templates come before the own ones, such as `base.html`, and
    their values."""

    folder: Path
    values: Mapping[str, Any]


def render(template: str, redact: Redact, frame: Frame | None = None, **values: Any) -> str:
    """Render a template with the values."""
    folders = [TEMPLATES] if frame is None else [frame.folder, TEMPLATES]
    environment = Environment(
        loader=FileSystemLoader(folders),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: _clean(value, redact),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        name: getattr(figures, name) for name in ("duration", "money", "amount", "when", "unknown_costs")
    }
    around = {} if frame is None else frame.values
    return environment.get_template(template).render({**around, **values})


def prose(text: str) -> Markup:
    """Markdown as HTML: tags are shown as text, pictures as links, and links are limited to web addresses."""
    markdown = MarkdownIt("js-default", {"html": False}).disable("image")
    return Markup(markdown.render(printable(text)))


def _clean(value: object, redact: Redact) -> object:
    return redact(printable(value)) if isinstance(value, str) and not isinstance(value, Markup) else value
