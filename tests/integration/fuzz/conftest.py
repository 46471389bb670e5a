"""The same database as the integration tests, and a door to the real application."""

from collections.abc import Iterator
from uuid import UUID

import pytest

from api.settings import api_settings
from tests.integration.conftest import make_key
from tests.integration.fuzz.door import Door
from tests.integration.fuzz.run import open_door


@pytest.fixture
def door(tenant_id: UUID, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    """Nobody works beside the traffic, so that calls that wait do so in vain: they wait briefly."""
    monkeypatch.setenv("AFTERTURN_MAX_WAIT_MS", "50")
    api_settings.cache_clear()
    with open_door(make_key(tenant_id)) as opened:
        yield opened
    api_settings.cache_clear()
