"""Explains failures by the endpoint's model list: a mistyped model, a wrong address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hermes_jobs.agent.llm.catalogue import Listing
from hermes_jobs.engine.ports import Cancel, Model, ModelError, ModelRequest, Reply

_AT_THE_ADDRESS = {"page", "address", "other_api"}


class Client(Model, Protocol):
    """A model with its own connections."""

    def close(self) -> None:
        """Close the connections."""


class DiagnosingModel:
    """A model that requests the endpoint's model list after certain failures, and adds the finding to the
    error.

    `look` requests the list; successful calls do not.
    """

    def __init__(self, model: Client, look: Callable[[], Listing]) -> None:
        self._model = model
        self._look = look

    def close(self) -> None:
        """Close the model's connections."""
        self._model.close()

    def reply(self, request: ModelRequest, cancel: Cancel, on_text: Callable[[str], None]) -> Reply:
        """See `Model.reply`."""
        try:
            return self._model.reply(request, cancel, on_text)
        except ModelError as error:
            if not _is_puzzling(error):
                raise
            raise _explained(error, request.model, self._look()) from error


def _is_puzzling(error: ModelError) -> bool:
    """Whether the model, or the whole API, may not exist there."""
    no_api = error.kind == "garbage" and not error.usage.total_tokens
    return error.kind == "model_not_found" or no_api or error.message.startswith(("404", "405"))


def _explained(error: ModelError, model: str, found: Listing) -> ModelError:
    if found.trouble in _AT_THE_ADDRESS:
        return ModelError("bad_request", found.problem, hint=found.hint)
    if error.kind != "model_not_found" or not found.models or found.named(model) is not None:
        return error
    near = found.nearest(model)
    offered = f"The nearest that it offers: {', '.join(near)}." if near else "It offers nothing like it."
    hint = "`hermes-jobs models list` shows all."
    sentence = error.message if error.message.endswith((".", "!", "?")) else f"{error.message}."
    return ModelError(error.kind, f"{sentence} {offered}", hint=hint)
