"""Helpers for tests of metrics: the page as Prometheus reads it, and its values by name and labels."""

from collections.abc import Mapping

from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp

from models.telemetry import counters as counting
from models.telemetry.counters import flush

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


class Page:
    """The metrics at one moment."""

    def __init__(self, page: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(page)}
        self.samples: Samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        """One sample; 0 where there is none."""
        return self.samples.get((f"afterturn_{name}", frozenset(labels.items())), 0.0)

    def names(self) -> set[str]:
        """The names of all samples."""
        return {name for name, _ in self.samples}


def local(app: ASGIApp, host: str = "127.0.0.1") -> TestClient:
    """A caller at an address, which is this machine's own unless it is said otherwise."""
    return TestClient(app, client=(host, 40_000))


def scrape(app: ASGIApp) -> Page:
    """The page now, with all that was counted in this process."""
    assert flush()
    answer = local(app).get("/metrics")
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


def forget_counts() -> None:
    """Drop what other tests counted in this process and never wrote."""
    counting._counts.take()
