"""Spans of traces."""

import atexit
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from models.telemetry.settings import tracing_settings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer


log = structlog.get_logger()

MOST_WAITING = 2_048
"""Number of spans waiting to be sent; beyond the number, the newest are dropped."""

STEP_KIND = "CHAIN"
"""OpenInference's kind of a step that calls no model: Phoenix and Langfuse show spans by their kinds."""

_FORMAT_PARTS = 4

Value = str | int | float | bool | Sequence[str]
_role = {"name": "afterturn"}


class Span(Protocol):
    """Facts to note about a step while the step runs."""

    def tell(self, **attributes: Value | None) -> None:
        """Note facts; None is ignored."""

    def fail(self, kind: str) -> None:
        """Note a failure of the step, and the kind."""

    def rename(self, name: str) -> None:
        """Rename the step, for a name unknown at the start."""


class _NoSpan:
    def tell(self, **attributes: Value | None) -> None:
        """Say nothing."""

    def fail(self, kind: str) -> None:
        """Say nothing."""

    def rename(self, name: str) -> None:
        """Say nothing."""


NO_SPAN: Span = _NoSpan()


class _RealSpan:
    def __init__(self, span: Any) -> None:
        self._span = span

    def tell(self, **attributes: Value | None) -> None:
        """Note facts under their dotted names."""
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(_dotted(name), value)

    def fail(self, kind: str) -> None:
        """Note the kind; error messages may repeat somebody's words."""
        from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415

        self._span.set_attribute("error.type", kind)
        self._span.set_status(Status(StatusCode.ERROR))

    def rename(self, name: str) -> None:
        """Give the span another name."""
        self._span.update_name(name)


def _dotted(name: str) -> str:
    """Replace double underscores by dots: `gen_ai__usage__input_tokens` becomes gen_ai.usage.input_tokens."""
    return name.replace("__", ".")


def name_process(role: str) -> None:
    """Name the service of this process' spans by the role."""
    _role["name"] = f"afterturn-{role}"


_OFF = nullcontext(NO_SPAN)


def span(
    name: str, *, kind: str = "internal", parent: str | None = None, **attributes: Value | None
) -> AbstractContextManager[Span]:
    """Make a step a span of the present trace, or of a parent's trace.

    Args:
        name: A name out of few: no ids.
        kind: `internal`, `server`, `client`, `producer` or `consumer`.
        parent: W3C traceparent of the causing step; None for the present step.
        attributes: Known facts; two underscores stand for a dot.
    """
    return _begun(name, kind, parent, attributes) if tracing_settings().traces else _OFF


@contextmanager
def _begun(
    name: str, kind: str, parent: str | None, attributes: Mapping[str, Value | None]
) -> Iterator[Span]:
    from opentelemetry.trace import SpanKind  # noqa: PLC0415

    with _tracer(os.getpid()).start_as_current_span(
        name,
        context=_context_of(parent),
        kind=SpanKind[kind.upper()],
        record_exception=False,
        set_status_on_exception=False,
    ) as started:
        told = _RealSpan(started)
        told.tell(**attributes)
        if kind != "client":  # a call of a model has its own names
            told.tell(openinference__span__kind=STEP_KIND)
        try:
            yield told
        except BaseException as error:
            told.fail(type(error).__name__)
            raise


def annotate(**attributes: Value | None) -> None:
    """Note facts of the present span, from any starter."""
    if tracing_settings().traces:
        from opentelemetry.trace import get_current_span  # noqa: PLC0415

        _RealSpan(get_current_span()).tell(**attributes)


def present_trace() -> str | None:
    """Return the present step as a W3C traceparent; None without a step, or with traces off."""
    if not tracing_settings().traces:
        return None
    from opentelemetry.trace import get_current_span  # noqa: PLC0415

    at = get_current_span().get_span_context()
    return f"00-{at.trace_id:032x}-{at.span_id:016x}-{at.trace_flags:02x}" if at.is_valid else None


def sampled_trace_id() -> str | None:
    """Return the id of the present trace, 32 hexadecimal digits; None for a trace that is not sent."""
    _, trace_id, _, flags = (present_trace() or "---").split("-")
    return trace_id if trace_id and int(flags, 16) & 1 else None


def add_trace(_logger: object, _method: str, event: Any) -> Any:
    """Add the present trace's id to a log line; for structlog."""
    if (trace := present_trace()) is not None:
        event["trace_id"] = trace.split("-")[1]
    return event


def close_traces() -> None:
    """Send the waiting spans, within the time limit of sending; a later span begins anew."""
    if _provider.cache_info().currsize:
        _provider(os.getpid()).shutdown()
        _tracer.cache_clear()
        _provider.cache_clear()


@cache
def _tracer(pid: int) -> "Tracer":
    return _provider(pid).get_tracer("afterturn")


@cache
def _provider(_pid: int) -> "TracerProvider":
    """Make the provider of a process, after any fork: the provider sends from a thread."""
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased  # noqa: PLC0415

    settings = tracing_settings()
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.traces_share)),
        resource=Resource({"service.name": _role["name"], "process.pid": os.getpid()}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        BatchSpanProcessor(
            _exporter(settings.collector, settings.traces_timeout_s),
            max_queue_size=MOST_WAITING,
            schedule_delay_millis=500,
            export_timeout_millis=settings.traces_timeout_s * 1_000,
        )
    )
    atexit.register(close_traces)
    return provider


def _exporter(collector: str, timeout_s: float) -> Any:
    """Make an exporter that logs the start of failures and the recovery: once each."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import SpanExportResult  # noqa: PLC0415

    class Exporter(OTLPSpanExporter):
        is_well = True

        def export(self, spans: Any) -> SpanExportResult:
            result = super().export(spans)
            is_well = result is SpanExportResult.SUCCESS
            if self.is_well and not is_well:
                log.warning("traces_lost", collector=collector)
            if is_well and not self.is_well:
                log.info("traces_delivered", collector=collector)
            self.is_well = is_well
            return result

    return Exporter(endpoint=collector, timeout=timeout_s)


def _context_of(parent: str | None) -> "Context | None":
    """Build the context of a traceparent; None, the present context, for a missing or malformed parent."""
    if parent is None or len(parent.split("-")) < _FORMAT_PARTS:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    carrier: Mapping[str, str] = {"traceparent": parent}
    return TraceContextTextMapPropagator().extract(carrier)
