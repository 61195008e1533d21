"""The share of the memory in prompts, and left out entries: for `doctor` and a turn's notices."""

from __future__ import annotations

from collections.abc import Iterator

from hermes_jobs.bootstrap import Application
from hermes_jobs.features.memory.files import NAMES
from hermes_jobs.features.memory.rules.memory import TARGETS, chars
from hermes_jobs.features.recall.tables.embeddings import select_embedding_counts
from hermes_jobs.interfaces.cli.doctor.finding import DoctorFinding, ok, warn
from hermes_jobs.llm.unusable import UnusableEmbedder
from hermes_jobs.text.figures import pluralize

HINT = "`hermes-jobs memory show` marks them; change them there or in the file, or use `memory add --anyway`."


def memory(application: Application) -> Iterator[DoctorFinding]:
    """The fill level of prompts, the entries that are only recalled, and those that a rule excludes."""
    places, limits = application.memory_places.preview(), application.memory_limits
    ruled = [entry for entry, rule in places.prompt.items() if rule is not None]
    for target in TARGETS:
        count = sum(entry.target == target for entry in ruled)
        if count:
            message = (
                f"{NAMES[target]} has {pluralize(count, 'entry', 'entries')} that prompts leave out by a rule"
            )
            yield warn("memory", message, HINT)
    yield from _embeddings(application)
    if ruled:
        return
    sizes = [f"{target} {chars(places.in_prompt(target)):,}/{limits.of(target):,}" for target in TARGETS]
    tail = f"; {pluralize(len(places.recalled), 'more entry', 'more entries')} only recalled"
    yield ok("memory", f"{', '.join(sizes)} characters in prompts{tail * bool(places.recalled)}")


def _embeddings(application: Application) -> Iterator[DoctorFinding]:
    """Whether the embedding model is reachable, and the number of vectors; nothing if embeddings are off."""
    choice = application.settings.embedding_model
    embedder = application.endpoints.embedder if choice is not None else None
    if embedder is None:
        return
    if isinstance(embedder, UnusableEmbedder):
        text = embedder.error
        yield warn("embeddings", text.message, text.hint)
        return
    counts = application.views.read(select_embedding_counts, embedder.model)
    more = f", {counts.planned} more planned" if counts.planned else ""
    yield ok("embeddings", f"{pluralize(counts.there, 'vector')} of {embedder.model}{more}")
