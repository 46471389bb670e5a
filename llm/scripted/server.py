"""HTTP side of the scripted model on loopback, in the formats of several providers."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from context.types import JsonObject
from llm.scripted.answers import chunks, completion, cut_text, error_answer
from llm.scripted.steps import Mode, Script, Step

_WORDS = 4
_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


@dataclass(frozen=True)
class Dialect:
    """A format of a provider.

    Attributes:
        convert: Makes the body of an answer of a chat completion.
        stream: Cuts such a body into events.
    """

    convert: Callable[[Mapping[str, Any]], JsonObject]
    stream: Callable[[JsonObject], list[JsonObject]]


def _anthropic(completion: Mapping[str, Any]) -> JsonObject:
    blocks: list[JsonObject] = []
    finish = "stop"
    for choice in completion["choices"]:
        message, finish = choice["message"], choice["finish_reason"]
        blocks += [{"type": "text", "text": message["content"]}] if message.get("content") else []
        for call in message.get("tool_calls", []):
            arguments = json.loads(call["function"]["arguments"])
            name = call["function"]["name"]
            blocks.append({"type": "tool_use", "id": call["id"], "name": name, "input": arguments})
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl", "msg"),
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": blocks,
        "stop_reason": _STOP.get(finish, "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
    }


def _anthropic_events(message: JsonObject) -> list[JsonObject]:
    start = {**message, "content": [], "stop_reason": None}
    events: list[JsonObject] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        kind, member = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        text = block["text"] if is_text else json.dumps(block["input"])
        for piece in cut_text(text, _WORDS if is_text else 1):
            delta = {"type": kind, member: piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": message["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]


def _responses(completion: Mapping[str, Any]) -> JsonObject:
    items: list[JsonObject] = []
    for choice in completion["choices"]:
        message = choice["message"]
        if message.get("content"):
            part = {"type": "output_text", "text": message["content"], "annotations": []}
            name = f"msg_{completion['id']}"
            said = {"type": "message", "id": name, "role": "assistant", "status": "completed"}
            items.append({**said, "content": [part]})
        items += [
            {"type": "function_call", "id": f"fc_{call['id']}", "call_id": call["id"], **call["function"]}
            for call in message.get("tool_calls", [])
        ]
    usage = completion["usage"]
    return {
        "id": completion["id"].replace("chatcmpl", "resp"),
        "object": "response",
        "created_at": completion["created"],
        "model": completion["model"],
        "status": "completed",
        "output": items,
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "output_tokens": usage["completion_tokens"],
            "total_tokens": usage["total_tokens"],
        },
    }


def _responses_events(response: JsonObject) -> list[JsonObject]:
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    events: list[JsonObject] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(response["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        is_text = item["type"] == "message"
        empty = {**item, "content": []} if is_text else {**item, "arguments": ""}
        events.append({"type": "response.output_item.added", "output_index": index, "item": empty})
        text = item["content"][0]["text"] if is_text else item["arguments"]
        kind = "response.output_text.delta" if is_text else "response.function_call_arguments.delta"
        events += [{"type": kind, **at, "content_index": 0, "delta": part} for part in cut_text(text, _WORDS)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    events.append({"type": "response.completed", "response": response})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


DIALECTS = {
    "/v1/messages": Dialect(_anthropic, _anthropic_events),
    "/v1/responses": Dialect(_responses, _responses_events),
}
"""Dialects by path; every other path speaks chat completions."""


_DRIP_INTERVAL_S = 0.1
_MAX_BODY_BYTES = 64_000_000


@dataclass(frozen=True)
class Recorded:
    """A received request, in the order of arrival."""

    body: JsonObject
    step: Step
    at_s: float = field(default_factory=time.monotonic)

    @property
    def model(self) -> str:
        """The model's name in the request."""
        return str(self.body.get("model", ""))


class ScriptedServer:
    """A scripted model on loopback; use as a context manager.

    Attributes:
        script: Script of the next answers.
        requests: Every request so far; read after the end of the calls.
    """

    def __init__(self, port: int = 0, default: Step | None = None) -> None:
        """Bind at once, so that the address is known; `start` begins to answer."""
        self.script = Script(default)
        self.requests: list[Recorded] = []
        self._released = threading.Event()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), _RequestHandler)
        self._http.scripted = self
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The `api_base` of an OpenAI client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def control_url(self) -> str:
        """Address for setting steps and reading requests over HTTP."""
        return self.base_url.removesuffix("/v1") + "/script"

    @property
    def count(self) -> int:
        """Number of received requests."""
        return len(self.requests)

    def next(self, *steps: Step | Mode) -> None:
        """Queue steps for the next requests."""
        self.script.add(Step(step) if isinstance(step, Mode) else step for step in steps)

    def release(self) -> None:
        """Let every hanging request, now and later, end in a good answer."""
        self._released.set()

    def hold(self) -> None:
        """Let later requests hang again."""
        self._released.clear()

    def record(self, body: JsonObject) -> tuple[Recorded, int]:
        """Store a request and choose the step; the number counts from 1."""
        with self._lock:
            recorded = Recorded(body, self.script.next_step(str(body.get("model", ""))))
            self.requests.append(recorded)
            return recorded, len(self.requests)

    def reset(self) -> None:
        """Forget requests and steps, and let `hang` hang again."""
        with self._lock:
            self.requests.clear()
            self.script.clear()
            self._released.clear()

    def wait(self, seconds: float) -> bool:
        """Wait, but end early when the server stops. Returns True while the server still runs."""
        return not self._stopping.wait(seconds)

    def wait_for_release(self) -> bool:
        """Hang until somebody releases the requests (True) or stops the server (False)."""
        while not self._stopping.is_set():
            if self._released.wait(_DRIP_INTERVAL_S):
                return True
        return False

    def start(self) -> Self:
        """Answer from a separate thread."""
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def serve(self) -> None:
        """Answer in this thread until interrupted."""
        try:
            self._http.serve_forever()
        finally:
            self.stop()

    def stop(self) -> None:
        """End every hanging answer and free the port."""
        self._stopping.set()
        if self._thread:
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    scripted: ScriptedServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: a client gone away is part of the play."""


class _RequestHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Print nothing: requests are recorded."""

    def do_GET(self) -> None:
        scripted = self.server.scripted
        if self.path == "/script":
            requests = [
                {"model": seen.model, "mode": seen.step.mode, "body": seen.body} for seen in scripted.requests
            ]
            self._send(200, {"count": len(requests), "requests": requests})
        elif self.path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": f"scripted-{mode}"} for mode in Mode]})
        else:
            self._send(404, {"error": {"message": "no such path"}})

    def do_DELETE(self) -> None:
        self.server.scripted.reset()
        self._send(200, {"count": 0})

    def do_POST(self) -> None:
        try:
            body = self._read_object()
            if self.path == "/script":
                return self._control(body)
        except (ValueError, TypeError) as error:
            return self._send(400, {"error": {"message": str(error), "type": "invalid_request_error"}})
        return self._complete(body)

    def _read_object(self) -> JsonObject:
        body = json.loads(self.rfile.read(min(int(self.headers["Content-Length"]), _MAX_BODY_BYTES)))
        if not isinstance(body, dict):
            raise TypeError("the body is not an object")
        return body

    def _control(self, body: JsonObject) -> None:
        scripted = self.server.scripted
        steps = [_step_from(step) for step in body.get("steps", [])]
        if "default" in body:
            scripted.script.set_default(_step_from(body["default"]))
        if body.get("release"):
            scripted.release()
        scripted.script.add(steps)
        self._send(200, {"queued": sum(step.times for step in steps)})

    def _complete(self, body: JsonObject) -> None:
        recorded, number = self.server.scripted.record(body)
        step = recorded.step
        if not self.server.scripted.wait(step.delay_s):
            return
        if step.mode is Mode.RESET:
            self._reset()
        elif step.mode is Mode.HANG and not self.server.scripted.wait_for_release():
            self.close_connection = True
        elif refusal := error_answer(step):
            self._send(refusal.status, refusal.body, refusal.headers)
        else:
            self._answer(body, step, completion(body, step, number=number))

    def _answer(self, request: JsonObject, step: Step, body: JsonObject) -> None:
        stream = bool(request.get("stream"))
        dialect = DIALECTS.get(self.path)
        if dialect is not None:
            body = dialect.convert(body)
        if stream and dialect is not None:
            payload = "".join(map(_event, dialect.stream(body))).encode()
        elif stream:
            options = request.get("stream_options") or {}
            events = chunks(body, with_usage=bool(options.get("include_usage")))
            lines = [f"data: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events]
            payload = "".join([*lines, "data: [DONE]\n\n"]).encode()
        else:
            payload = json.dumps(body, ensure_ascii=False).encode()
        if step.mode is Mode.TRUNCATED_JSON:
            payload = payload[: len(payload) // 2]
        kind = "text/event-stream" if stream else "application/json"
        if step.mode is Mode.DRIP_HEADERS:
            self._drip(b"HTTP/1.1 200 OK\r\nX-Drip: ", b"x", step.drip_s, b"\r\nContent-Length: 0\r\n\r\n")
        elif step.mode is Mode.DRIP:
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()
            self._drip(head + (b"data: {" if stream else b""), b" ", step.drip_s, b"" if stream else payload)
        else:
            self._send_bytes(200, payload, {"Content-Type": kind})

    def _drip(self, start: bytes, drop: bytes, drip_s: float, end: bytes) -> None:
        self.close_connection = True
        self.wfile.write(start)
        ends_at = time.monotonic() + drip_s
        while time.monotonic() < ends_at and self.server.scripted.wait(_DRIP_INTERVAL_S):
            self.wfile.write(drop)
        self.wfile.write(end)

    def _reset(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _send(self, status: int, body: JsonObject, headers: Mapping[str, str] | None = None) -> None:
        payload = json.dumps(body, ensure_ascii=False).encode()
        self._send_bytes(status, payload, {"Content-Type": "application/json", **(headers or {})})

    def _send_bytes(self, status: int, payload: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(payload))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)


def _event(event: JsonObject) -> str:
    return f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n"


def _step_from(value: Any) -> Step:
    if not isinstance(value, dict):
        raise TypeError("a step is an object such as {'mode': '429'}")
    return Step(**{**value, "mode": Mode(value["mode"])})
