"""A process with a wrong setting does not start: no call finds it later."""

from collections.abc import Iterator

import pytest
from celery.signals import celeryd_init
from fastapi.testclient import TestClient
from pydantic import ValidationError

from api.app import make_app
from models.settings import catalog_settings, compression_settings, recall_settings
from models.shadow_settings import shadow_settings
from models.text_settings import text_settings
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
