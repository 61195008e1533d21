"""A request with the bytes of pictures is large: it is freed with its answer, not by the collector later."""

from __future__ import annotations

import gc

from openai._models import FinalRequestOptions

from hermes_jobs.llm.client import OpenAIModel
from tests.llm.asking import ask
from tests.model_script import Answer, Script
from tests.model_server import ModelServer


def test_a_request_is_freed_when_its_stream_has_ended() -> None:
    server = ModelServer(Script(default=Answer(text="Yes."))).start()
    model = OpenAIModel(api_key="k", base_url=server.base_url)
    try:
        ask(model)
        gc.collect()
        gc.disable()
        ask(model)
        held = [each for each in gc.get_objects() if isinstance(each, FinalRequestOptions)]
    finally:
        gc.enable()
        model.close()
        server.close()
    assert held == []
