"""The API on a real port, an agent that reads through the protocol, and who fills what it reads."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from sqlalchemy import Engine

from tests.integration.agents import Agent, listening
from tests.integration.conftest import make_key


@pytest.fixture(scope="module")
def url(engine: Engine) -> Iterator[str]:
    """The API, on the database of these tests."""
    del engine  # names the database
    with listening() as at:
        yield at


@pytest.fixture
def agent(tenant_id: UUID, url: str) -> Agent:
    """An agent that may only read."""
    return Agent(url, make_key(tenant_id, "read"))


@pytest.fixture
def writer(tenant_id: UUID, url: str) -> Agent:
    """Who fills what the agent reads."""
    return Agent(url, make_key(tenant_id))
