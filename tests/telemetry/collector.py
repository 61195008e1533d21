"""A collector on loopback: takes spans by OTLP over HTTP and keeps them. It knows that one path alone."""

from __future__ import annotations

import gzip
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.server_thread import ServerThread


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """A span as it arrived; ids in hex, moments in nanoseconds, `failed` by its status."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    failed: bool
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector:
    """Listens from its making to `close`."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.headers: list[dict[str, str]] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                known = self.path == "/v1/traces"
                if known:
                    collector.spans += _spans(body)
                    collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(200 if known else 404)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_told: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = ServerThread(self._server)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._thread.close()

    def named(self, name: str) -> list[Span]:
        """The spans whose name begins so, in the order of their beginnings."""
        return sorted(
            (span for span in self.spans if span.name.startswith(name)), key=lambda span: span.start
        )


def _spans(body: bytes) -> list[Span]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Span(
            trace=span.trace_id.hex(),
            id=span.span_id.hex(),
            parent=span.parent_span_id.hex(),
            name=span.name,
            start=span.start_time_unix_nano,
            end=span.end_time_unix_nano,
            failed=span.status.code == 2,
            attributes={each.key: _value(each.value) for each in span.attributes},
            resource={each.key: _value(each.value) for each in of.resource.attributes},
        )
        for of in request.resource_spans
        for scope in of.scope_spans
        for span in scope.spans
    ]


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
