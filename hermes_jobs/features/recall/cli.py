"""`hermes-jobs memory embed`: computes missing vectors now."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hermes_jobs.errors import Rejected
from hermes_jobs.features.recall.tables.embeddings import select_embedding_counts
from hermes_jobs.interfaces.cli.command import command
from hermes_jobs.interfaces.cli.context import CliContext
from hermes_jobs.interfaces.cli.options import Json, example
from hermes_jobs.interfaces.cli.output import note
from hermes_jobs.interfaces.cli.resource import print_result
from hermes_jobs.text.figures import pluralize

if TYPE_CHECKING:
    from hermes_jobs.bootstrap import Application
    from hermes_jobs.kernel.events import HelperCallFailed


@command("embed", epilog=example("hermes-jobs memory embed", "hermes-jobs memory embed --json"))
def embed(context: CliContext, as_json: Json) -> int:
    """Compute missing embeddings, for recall by meaning.

    Workers do this automatically some minutes after a change. Requires `embeddings.model`; conversations are
    included if `memory.recall` is on. Existing vectors are not computed again.
    """
    application = context.application
    embedder = application.endpoints.embedder
    if embedder is None:
        raise Rejected(
            "Embeddings are off.",
            kind="usage",
            hint="Name a model: hermes-jobs config set embeddings.model text-embedding-3-small",
        )
    failed = _embed(context, embedder.model)
    counts = application.views.read(select_embedding_counts, embedder.model)
    result = {
        "model": embedder.model,
        "vectors": counts.there,
        "planned": counts.planned,
        "failed": None if failed is None else {"kind": failed.kind, "message": failed.message},
    }
    print_result(lambda: result, partial(_print_outcome, result, failed), as_json=as_json)
    return 1 if failed is not None else 0


def _embed(context: CliContext, model: str) -> HelperCallFailed | None:
    """Plan and embed until nothing is left, or a permanent failure."""
    from hermes_jobs.features.recall.plans import plans_of
    from hermes_jobs.interfaces.cli.logging_setup import log_to_file
    from hermes_jobs.kernel.events import HelperCallFailed
    from hermes_jobs.runtime.inline_worker import InlineWorker

    application = context.application
    application.sync_files()
    again = application.ids.name("e")
    plans, engine = plans_of(application), application.engine()
    if not (streams := plans.add(engine, model, quiet=0.0, again=again)):
        return None
    log_to_file(context, application.settings.paths.logs)
    with InlineWorker(application) as worker:
        while streams:
            for stream in streams:
                worker.work(partial(_is_done, application, stream), stream=stream)
                outcome = _outcome(application, stream)
                if isinstance(outcome, HelperCallFailed):
                    return outcome
            streams = plans.add(engine, model, quiet=0.0, again=again)
    return None


def _is_done(application: Application, stream: str) -> bool:
    return _outcome(application, stream) is not None


def _outcome(application: Application, stream: str) -> object:
    from hermes_jobs.features.recall.rules import Embedding

    state = application.engine().state(stream)
    assert isinstance(state, Embedding), f"{stream} is not an embedding"
    return state.outcome


def _print_outcome(result: dict[str, object], failed: HelperCallFailed | None) -> None:
    there = result["vectors"]
    assert isinstance(there, int), f"{there} is not a count"
    note(
        f"{pluralize(there, 'text')} {'has a vector' if there == 1 else 'have vectors'} of {result['model']}."
    )
    if failed is not None:
        note(f"It stopped: {failed.kind}: {failed.message}")
        note("To continue: hermes-jobs memory embed")
