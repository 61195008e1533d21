"""A model that answers by a script, for tests of programs that use hermes-jobs: over HTTP, on loopback.

    with scripted_model(["A summary."]) as model, Home(tmp_path, environ=model.environ) as home:
        assert home.send("Summarise this.").result == "A summary."
    assert model.requests[0].last_user_text == "Summarise this."

Everything but the model is real: the turn, its tools, the log. Answers are used up in the order of the
requests; a function of the request answers in any order. Requests for a session's title are answered apart.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from hermes_jobs.testing.script import Answer, Refuse, Request, ToolCall
from hermes_jobs.testing.server import ScriptedModel

Reply = str | Answer | Refuse


@contextlib.contextmanager
def scripted_model(
    answers: Iterable[Reply] | Callable[[Request], Reply],
) -> Iterator[ScriptedModel]:
    """A model that gives these answers, while the `with` lasts. A request beyond the last answer fails."""
    model = ScriptedModel(answers if callable(answers) else _one_after_another(answers))
    thread = threading.Thread(target=model.serve, name="scripted-model", daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.close()
        thread.join()


def _one_after_another(answers: Iterable[Reply]) -> Callable[[Request], Reply]:
    waiting, lock = iter(answers), threading.Lock()

    def choose(request: Request) -> Reply:
        with lock:
            following = next(waiting, None)
        if following is None:
            return Refuse(status=400, message=f"The script has no answer to request {request.number + 1}.")
        return following

    return choose


__all__ = ["Answer", "Refuse", "Reply", "Request", "ScriptedModel", "ToolCall", "scripted_model"]
