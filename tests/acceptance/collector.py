"""A collector of traces on loopback: it takes OTLP over HTTP and keeps the spans."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Told:
    """One span as it arrived."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    failed: bool


class Collector:
    """Keeps every span; `hold` makes it answer nothing, as one that hangs."""

    def __init__(self) -> None:
        self.spans: list[Told] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.hold = threading.Event()
        self._ends = threading.Event()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if collector.hold.is_set():
                    collector._ends.wait(60)
                    return
                collector.headers.append({name.lower(): value for name, value in self.headers.items()})
                collector.take(body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1/traces"

    def take(self, body: bytes) -> None:
        """Keep the spans of one request."""
        self.bodies.append(body)
        request = ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            service = next(
                pair.value.string_value for pair in resource.resource.attributes if pair.key == "service.name"
            )
            for scope in resource.scope_spans:
                self.spans.extend(
                    Told(
                        service,
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        {pair.key: _value(pair.value) for pair in span.attributes},
                        failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    )
                    for span in scope.spans
                )

    def of(self, trace_id: str, name: str) -> list[Told]:
        """The spans of a trace that have a name."""
        return [span for span in list(self.spans) if span.trace_id == trace_id and span.name == name]

    @contextmanager
    def listening(self) -> Iterator["Collector"]:
        """Answer while the block runs."""
        thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ends.set()
            self._http.shutdown()
            thread.join()
            self._http.server_close()


def _value(value: Any) -> Any:
    found = getattr(value, value.WhichOneof("value"))
    return [_value(one) for one in found.values] if hasattr(found, "values") else found
