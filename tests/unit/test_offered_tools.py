"""Tools that requests bring along are worked on once for a tenant, and bounded by their memory."""

from uuid import UUID

import pytest

from api.context import tools
from api.context.tools import ToolOffer, offer_tools
from context.types import Wire
from models.catalogs.settings import CatalogSettings

ONE, OTHER = UUID(int=1), UUID(int=2)


def offered(tenant_id: UUID, number: int) -> ToolOffer:
    """Offer a tool with a description of 3 kB."""
    described = {"name": f"weigh_{number}", "description": "crate " * 500}
    return offer_tools(tenant_id, [{"type": "function", "function": described}], None, Wire.OPENAI, "gpt-4o")


def test_a_tenants_tools_are_worked_on_once_and_no_other_tenant_gains_by_it() -> None:
    assert offered(ONE, 1).listed is offered(ONE, 1).listed
    assert offered(ONE, 1).listed is not offered(OTHER, 1).listed


def test_tools_that_requests_bring_are_bounded_by_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small = CatalogSettings(tools_cache_bytes=300_000)
    monkeypatch.setattr(tools, "catalog_settings", lambda: small)
    first = offered(ONE, 1).listed
    assert offered(ONE, 1).listed is first
    for number in range(2, 9):
        offered(ONE, number)
    assert len(tools._own_tools._kept) == 4
    assert offered(ONE, 1).listed is not first
