"""Catalog budgets of models: the table of profiles, and a cache of single profiles."""

from dataclasses import asdict
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.catalogs import ModelBudgets
from api.cache import FreshCache
from api.http.call import BodyCall, Parameters
from context.providers.profiles import FALLBACK, TOP_N, ModelProfile, Tier, resolve_profile
from models.catalogs.model_profile import find_prices, list_overrides, list_profiles, load_profile
from models.catalogs.settings import catalog_settings
from models.scope import Scope

router = APIRouter(prefix="/v1", tags=["catalogs"])

POLICY = (
    "A model goes by the profile of its exact id, else of the longest prefix, at whichever host it runs; "
    f"an unknown model falls back to tier {FALLBACK.tier} ({FALLBACK.input_tokens:,} tokens in, "
    f"{FALLBACK.output_tokens:,} out). Tier A is shown whole catalogs. Tiers B and C are shown catalogs "
    f"compacted to their catalog_bytes, and where that alone does not fit the {TOP_N[Tier.B]} or "
    f"{TOP_N[Tier.C]} entries that rank highest. A tenant's own overrides win."
)
"""Explanation of the budget table."""

_ANY_OTHER = "*"


class WantedModel(Parameters):
    """Model to show in detail."""

    model: str | None = Field(None, min_length=1, max_length=200, description="A model's name at any host.")


@router.get("/context-budgets", **answers(ModelBudgets, "list_model_budgets", "List budgets of models"))
def show_budgets(call: BodyCall, wanted: Annotated[WantedModel, Query()]) -> Response:
    """Answer with the budget of every kind of model, with the tenant's overrides, and of a named model."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        answer = budgets_answer(scope)
    if wanted.model:
        profile = profiles.find(caller.tenant_id, wanted.model)
        answer["resolved"] = {
            "model": wanted.model,
            "profile": profile.prefix or _ANY_OTHER,
            **_members(profile),
        }
    return Response(orjson.dumps(answer, default=_number), media_type="application/json")


def budgets_answer(scope: Scope) -> dict[str, Any]:
    """Build the table of budgets for a tenant.

    Args:
        scope: The transaction and its tenant.

    Returns:
        `{budgets, policy}`; the last budget is for all other models.
    """
    shared, overrides = list_profiles(scope.db), list_overrides(scope)
    own = {override.prefix for override in overrides}
    prefixes = sorted({profile.prefix for profile in shared} | own)
    prices = find_prices(scope.db, prefixes)
    budgets = [
        {
            "model": prefix,
            **_members(resolve_profile(prefix, shared, overrides=overrides, prices=prices)),
        }
        for prefix in prefixes
    ]
    return {"budgets": [*budgets, {"model": _ANY_OTHER, **_members(FALLBACK)}], "policy": POLICY}


def _members(profile: ModelProfile) -> dict[str, Any]:
    members = asdict(profile)
    del members["prefix"]
    return {**members, "top_n": profile.top_n}


def _number(value: object) -> float | str:
    return float(value) if isinstance(value, Decimal) else str(value)


class ProfileCache:
    """Cache of recently read profiles."""

    def __init__(self) -> None:
        """Start empty."""
        self._kept = FreshCache[tuple[UUID, str], ModelProfile](lambda: catalog_settings().profile_cache_s)

    def find(self, tenant_id: UUID, model: str) -> ModelProfile:
        """Find the profile of a model for a tenant."""
        return self._kept.find((tenant_id, model), lambda: _load_profile(tenant_id, model))


def _load_profile(tenant_id: UUID, model: str) -> ModelProfile:
    with Scope.read(tenant_id) as scope:
        return load_profile(scope, model)


profiles = ProfileCache()
