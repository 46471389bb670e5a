"""A process with a wrong setting does not start: no call finds it later."""

from collections.abc import Iterator

import pytest
from celery.signals import celeryd_init
from fastapi.testclient import TestClient
from pydantic import ValidationError

from afterturn.doctor import check_models
from api.app import make_app
from llm.settings import LlmSettings, llm_settings
from models.catalogs.settings import catalog_settings
from models.conversations.settings import compression_settings
from models.encryption.settings import text_settings
from models.ledger.caps import Caps
from models.ledger.settings import budget_settings
from models.recall.settings import recall_settings
from models.shadow.settings import shadow_settings
from workers.app import app
from workers.settings import WorkerSettings

_READ = (catalog_settings, compression_settings, recall_settings, shadow_settings, text_settings)


@pytest.fixture(
    params=[
        ("AFTERTURN_SUMMARIZE_KEEP_SHARE", "0.9"),
        ("AFTERTURN_PROMPT_CACHE_TTL_S", "4"),
        ("AFTERTURN_RECALL_MAX_SHARE", "2"),
        ("AFTERTURN_SHADOW_PARTS", '["everything"]'),
        ("AFTERTURN_TEXT_KEYS", "first:short"),
        ("AFTERTURN_CATALOG_MAX_NAME_CHARS", "257"),
    ]
)
def _wrong(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One setting that is out of range, or that does not agree with the others."""
    monkeypatch.setenv(*request.param)
    for settings in _READ:
        settings.cache_clear()
    yield
    for settings in _READ:
        settings.cache_clear()


@pytest.mark.usefixtures("_wrong")
def test_the_api_does_not_start_with_a_wrong_setting() -> None:
    with pytest.raises(ValidationError), TestClient(make_app()):
        pass


@pytest.mark.usefixtures("_wrong")
def test_a_worker_does_not_start_with_a_wrong_setting() -> None:
    with pytest.raises(SystemExit, match="a setting is wrong"):
        celeryd_init.send(sender="test", instance=None, conf=app.conf, options={})


def test_a_worker_does_not_start_where_a_call_may_outlive_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.app.settings", WorkerSettings(task_soft_limit_s=1))
    with pytest.raises(SystemExit, match="must be below task_soft_limit_s"):
        celeryd_init.send(sender="test", instance=None, conf=app.conf, options={})


@pytest.fixture
def _small_cap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cap that is below one window of a model that is asked."""
    monkeypatch.setenv("SUMMARIZER_MODEL", "openai/gpt-4o-mini")
    monkeypatch.setenv("AFTERTURN_SESSION_TOKENS_PER_DAY", "100000")
    for settings in (llm_settings, budget_settings):
        settings.cache_clear()
    yield
    for settings in (llm_settings, budget_settings):
        settings.cache_clear()


@pytest.mark.usefixtures("_small_cap")
def test_a_worker_does_not_start_under_a_cap_that_admits_no_call() -> None:
    with pytest.raises(SystemExit, match="AFTERTURN_SESSION_TOKENS_PER_DAY is 100000: less than one full"):
        celeryd_init.send(sender="test", instance=None, conf=app.conf, options={})


@pytest.mark.usefixtures("_small_cap")
def test_the_doctor_finds_a_cap_that_admits_no_call() -> None:
    found = check_models()
    assert not found.is_well
    assert "AFTERTURN_SESSION_TOKENS_PER_DAY is 100000" in found.seen
    assert "raise it" in found.seen


def test_a_cap_of_one_window_is_enough() -> None:
    settings = LlmSettings(
        summarizer_model="openai/gpt-4o-mini", planner_window_tokens=8_000, summarizer_window_tokens=9_000
    )
    settings.check_caps(Caps(session_tokens_per_day=9_000))
    with pytest.raises(ValueError, match="8999"):
        settings.check_caps(Caps(session_tokens_per_day=8_999))
    LlmSettings(summarizer_model="extractive", context_planner_model="extractive").check_caps(
        Caps(session_tokens_per_day=1)
    )
