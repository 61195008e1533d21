"""Servers that run on one's own machine, each with the rules by which it says which window it serves.

All answer Chat Completions. `WINDOW` is what they serve; a longer prompt is refused or, by Ollama, cut.
Prompts are counted at four characters a token, with the tools.
"""

from __future__ import annotations

import json
from typing import Any

from tests.model_script import Action, Answer, Refuse, Seen
from tests.model_server import Handler, ModelServer

WINDOW = 4_096
MODEL = "some-model"


class OwnServerHandler(Handler):
    """Answers only the paths that its server has, as that does; counts them in `asked`."""

    def do_GET(self) -> None:
        server = self.server.model
        assert isinstance(server, OwnServer)
        server.asked.append(self.path)
        answer = server.said(self.path)
        self._send_json(404 if answer is None else 200, answer or {"error": "not found"})

    def do_POST(self) -> None:
        server = self.server.model
        assert isinstance(server, OwnServer)
        if self.path.endswith("/chat/completions"):
            server.is_loaded = True
            super().do_POST()
            return
        server.asked.append(self.path)
        answer = server.told(self.path, self._body())
        self._send_json(404 if answer is None else 200, answer or {"error": "not found"})


class OwnServer(ModelServer):
    """One model, served with `window` tokens; `is_loaded`: whether it is in memory."""

    handler = OwnServerHandler
    provider = "custom"
    window = WINDOW

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.is_loaded = False
        self.answers: list[Action] = []
        self.follow(self.reply)

    def said(self, path: str) -> Any:
        """The body for a GET; None for a path that it does not have."""
        raise NotImplementedError

    def told(self, path: str, body: Any) -> Any:
        """The same for a POST."""
        return None

    def counted(self, seen: Seen) -> int:
        """The tokens of a prompt."""
        return len(json.dumps([*seen.messages, *seen.body.get("tools", [])])) // 4

    def reply(self, seen: Seen) -> Action:
        """The next answer; a prompt that does not fit is refused as llama.cpp and vLLM do."""
        counted = self.counted(seen)
        if counted >= self.window:
            return self.too_long(counted)
        answer = self.answers.pop(0) if self.answers else Answer(text="Yes.")
        assert isinstance(answer, Answer)
        usage = {"prompt_tokens": counted, "completion_tokens": 5, "total_tokens": counted + 5}
        return Answer(text=answer.text, tool_calls=answer.tool_calls, usage=usage)

    def too_long(self, counted: int) -> Action:
        """How it refuses such a prompt."""
        return Refuse(status=400, message=f"This model's maximum context length is {self.window} tokens.")


class Vllm(OwnServer):
    """`max_model_len` in its list (`ModelCard` of vllm/entrypoints/openai/models/protocol.py)."""

    provider = "vllm"

    def said(self, path: str) -> Any:
        entry = {"id": MODEL, "object": "model", "owned_by": "vllm", "max_model_len": self.window}
        return {"object": "list", "data": [entry]} if path == "/v1/models" else None


class LlamaCpp(OwnServer):
    """The one model that it has answers to any name, and is listed by its file. `/props` has the window of a
    slot (tools/server/README.md), the list only that of the training; newer ones list `n_ctx` (b11549).
    """

    provider = "llamacpp"
    lists_window = False

    def said(self, path: str) -> Any:
        meta = {"n_ctx_train": 131_072, **({"n_ctx": self.window} if self.lists_window else {})}
        entry = {"id": "/models/some.gguf", "object": "model", "owned_by": "llamacpp", "meta": meta}
        props = {"default_generation_settings": {"n_ctx": self.window, "params": {}}, "total_slots": 1}
        return {"/v1/models": {"object": "list", "data": [entry]}, "/props": props}.get(path)

    def too_long(self, counted: int) -> Action:
        error = {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": counted,
            "n_ctx": self.window,
        }  # ggml-org/llama.cpp#15780
        return Refuse(status=400, body={"error": error})


class NewLlamaCpp(LlamaCpp):
    """Has the running window in its list."""

    lists_window = True


class LmStudio(OwnServer):
    """`/api/v0/models` names a window of a loaded model (lmstudio.ai/docs/developer/rest/endpoints)."""

    provider = "lmstudio"

    def said(self, path: str) -> Any:
        entry: dict[str, Any] = {"id": MODEL, "object": "model", "owned_by": "organization_owner"}
        if path == "/v1/models":
            return {"object": "list", "data": [entry]}
        state = "loaded" if self.is_loaded else "not-loaded"
        own = {**entry, "state": state, "max_context_length": 131_072}
        loaded = {"loaded_context_length": self.window} if self.is_loaded else {}
        return {"object": "list", "data": [{**own, **loaded}]} if path == "/api/v0/models" else None


class Ollama(OwnServer):
    """Loads a model at its first request, or at one without a prompt (docs.ollama.com/faq), and names its
    window at `/api/ps` from then on; `/api/show` has `num_ctx` among its `parameters` if the Modelfile does.

    A longer prompt is cut to half of the window (ollama/ollama#17889), or to all of it (#10368): `reads`.
    """

    provider = "ollama"
    reads = WINDOW // 2 + 2
    parameters = 'stop                           "<|im_end|>"'

    def said(self, path: str) -> Any:
        running = {"name": f"{MODEL}:latest", "model": f"{MODEL}:latest", "context_length": self.window}
        listed = {"id": f"{MODEL}:latest", "object": "model", "owned_by": "library"}
        answers = {
            "/api/ps": {"models": [running] if self.is_loaded else []},
            "/v1/models": {"object": "list", "data": [listed]},
        }
        return answers.get(path)

    def told(self, path: str, body: Any) -> Any:
        assert body["model"] == MODEL
        if path == "/api/generate":
            self.is_loaded = True
            return {"model": MODEL, "response": "", "done": True, "done_reason": "load"}
        info = {"general.architecture": "qwen3", "qwen3.context_length": 40_960}
        return {"parameters": self.parameters, "model_info": info} if path == "/api/show" else None

    def counted(self, seen: Seen) -> int:
        whole = super().counted(seen)
        return whole if whole < self.window else self.reads


SERVERS: tuple[type[OwnServer], ...] = (Vllm, LlamaCpp, NewLlamaCpp, LmStudio, Ollama)
