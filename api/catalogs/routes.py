"""Catalogs of tools and pipelines: stored by version, ranked by an intent, fitted to a model."""

from dataclasses import asdict
from typing import Annotated, Any
from uuid import UUID

import orjson
import structlog
from fastapi import APIRouter, Depends, Header, Path, Query, Response, status
from pydantic import Field
from starlette.background import BackgroundTask

from api.answers.base import answers
from api.answers.catalogs import (
    CatalogList,
    CatalogReceipt,
    CompactCatalog,
    RankingAnswer,
    ShownCatalog,
    StoredCatalog,
)
from api.catalogs.budgets import profiles
from api.catalogs.catalog_cache import LoadedCatalog, catalogs, prior_sets
from api.http.call import Body, BodyCall, Call, Parameters, documented, reader
from api.http.errors import ProblemError, committed, not_found
from api.settings import api_settings
from context.catalog.compact import Ladder
from context.catalog.fit import Fitted, fit_catalog
from context.catalog.read import CatalogLimits, read_catalog
from context.errors import InvalidInputError
from context.providers.profiles import catalog_budget
from context.ranking.rank import rank
from context.ranking.types import Ranked
from context.text.sanitize import parse_json
from context.tokens import count_text
from context.tool_plans.lexical import gap_warning
from context.types import JsonObject
from models.catalogs.catalog import CatalogVersion, delete_catalog, list_catalogs, load_version, put_catalog
from models.catalogs.settings import catalog_settings
from models.database import database_now
from models.scope import Scope
from models.tenants.row_security import keep_to

log = structlog.get_logger()
router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"])

CatalogCall = Annotated[Call, Depends(reader(lambda _: catalog_settings().catalog_max_bytes))]


CatalogName = Annotated[str, Path(description="The catalog, as the tenant calls it.")]


class CatalogBody(Body):
    """A catalog; tools in the form of a routing guide, MCP, OpenAI or Anthropic, also mixed."""

    tools: list[JsonObject] | None = Field(None, description="Tools; a list alone is taken too.")
    packs: list[JsonObject] | None = Field(None, description="The same under another name.")
    pipelines: list[JsonObject] | None = Field(None, description="Fixed sequences of tools.")


class WantedVersion(Parameters):
    """Version to read."""

    digest: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Its digest; the one in force.")


RANKED_FOR = Field(
    None,
    max_length=200,
    description="The conversation, known or not. It decides whether a canary of priors serves the request; "
    "without it, the set in force does.",
)


class RankBody(Body):
    """Intent to rank a catalog for."""

    intent: str = Field(min_length=1, max_length=100_000, description="What the user wants, in any language.")
    top_n: int | None = Field(None, ge=1, le=100_000, description="The most entries; all without it.")
    explain: bool = Field(default=False, description="Say why each entry stands where it does.")
    session_id: str | None = RANKED_FOR


class CompactBody(Body):
    """Model to fit the catalog to."""

    model: str = Field(min_length=1, max_length=200, description="The model that is shown the catalog.")
    intent: str | None = Field(
        None,
        min_length=1,
        max_length=100_000,
        description="What decides which entries stay where some must go.",
    )
    reserve_tokens: int | None = Field(
        None,
        ge=0,
        le=100_000_000,
        description="What the rest of the prompt takes; without it, a usual prompt.",
    )
    session_id: str | None = RANKED_FOR


@router.put(
    "/{name}",
    openapi_extra=documented(CatalogBody),
    **answers(StoredCatalog, "put_catalog", "Store a catalog of tools"),
)
def store_catalog(name: CatalogName, call: CatalogCall) -> Response:
    """Put a catalog version in force; earlier versions stay readable by digest."""
    caller, settings = call.caller("write"), catalog_settings()
    limits = CatalogLimits(
        settings.catalog_max_entries,
        settings.catalog_max_name_chars,
        settings.catalog_max_description_chars,
    )
    catalog = read_catalog(_document(call), limits)
    ladder = Ladder(catalog)
    body = ladder.text(range(ladder.entries), 0, "")
    changed = committed(
        caller.tenant_id,
        lambda scope: put_catalog(
            scope,
            name,
            catalog,
            body=body,
            tokens=ladder.whole.tokens,
            now=database_now(scope.db),
            keep_versions=settings.catalog_keep_versions,
        ),
    )
    later = None
    if ladder.whole.bytes <= settings.catalog_prepare_at_put_bytes:
        catalogs.prepare(caller.tenant_id, name)
    else:
        later = BackgroundTask(_prepare_later, caller.tenant_id, name)
    answer = {
        "name": name,
        "digest": catalog.digest,
        "tools": catalog.packs,
        "pipelines": catalog.pipelines,
        "bytes": ladder.whole.bytes,
        "tokens": ladder.whole.tokens,
        "changed": changed,
    }
    return _json(answer, catalog.digest, later)


def _prepare_later(tenant_id: UUID, name: str) -> None:
    keep_to(tenant_id)
    catalogs.prepare(tenant_id, name)


def _document(call: Call) -> object:
    try:
        return parse_json(call.raw, max_depth=api_settings().max_depth)[0]
    except InvalidInputError as error:
        raise ProblemError("invalid-json", error.message, **error.numbers) from None


@router.get("/{name}", **answers(ShownCatalog, "get_catalog", "Get a catalog of tools"))
def show_catalog(
    name: CatalogName,
    call: BodyCall,
    wanted: Annotated[WantedVersion, Query()],
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """Answer with a catalog and its digest: the version in force, or the version of a given digest."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        version = load_version(scope, name, wanted.digest, with_days=False)
    if version is None:
        raise not_found("catalog, or no such version of it any more")
    if if_none_match and _etag(version.digest) in {each.strip() for each in if_none_match.split(",")}:
        return Response(status_code=status.HTTP_304_NOT_MODIFIED, headers={"ETag": _etag(version.digest)})
    return _json(_version_members(version), version.digest)


@router.get("", **answers(CatalogList, "list_catalogs", "List catalogs of tools"))
def list_all(call: BodyCall) -> Response:
    """Answer with every catalog in force, by name, without entries."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        found = list_catalogs(scope)
    answer = {"catalogs": [asdict(each) for each in found]}
    return Response(orjson.dumps(answer), media_type="application/json")


@router.delete("/{name}", **answers(CatalogReceipt, "delete_catalog", "Delete a catalog of tools"))
def delete(name: CatalogName, call: BodyCall) -> Response:
    """Delete a catalog with all versions; plans made from the catalog stay, with its digest."""
    caller = call.caller("write")
    removed = committed(caller.tenant_id, lambda scope: delete_catalog(scope, name))
    if not removed:
        raise not_found("catalog")
    answer = {"removed": removed, "invalidated": {}, "requeued": 0}
    return Response(orjson.dumps(answer), media_type="application/json")


@router.post(
    "/{name}/rank",
    openapi_extra=documented(RankBody),
    **answers(RankingAnswer, "rank_tools", "Rank tools for an intent"),
)
def rank_entries(name: CatalogName, call: BodyCall) -> Response:
    """Answer with the entries ranked for an intent."""
    caller, wanted = call.caller("read"), call.body(RankBody)
    loaded = catalogs.find(caller.tenant_id, name)
    in_force = prior_sets.find(caller.tenant_id, loaded, wanted.session_id)
    priors = in_force.say(wanted.intent, explain=wanted.explain)
    ranking = rank(loaded.index, wanted.intent, priors=priors, explain=wanted.explain, limit=wanted.top_n)
    answer = {
        "entries": [_ranked(entry, explain=wanted.explain) for entry in ranking.entries],
        "prior_set": in_force.version,
        "hidden": len(loaded.catalog.entries) - len(ranking.entries),
        "gap_warning": gap_warning(ranking, loaded.missed(wanted.intent, priors)),
        "digest": loaded.digest,
    }
    return _json(answer, loaded.digest)


@router.post(
    "/{name}/compact",
    openapi_extra=documented(CompactBody),
    **answers(CompactCatalog, "compact_catalog", "Fit a catalog to a model"),
)
def compact_for_model(name: CatalogName, call: BodyCall) -> Response:
    """Answer with a catalog fitted to a model, and with its losses."""
    caller, wanted = call.caller("read"), call.body(CompactBody)
    loaded = catalogs.find(caller.tenant_id, name)
    profile = profiles.find(caller.tenant_id, wanted.model)
    reserve = wanted.reserve_tokens
    if reserve is None:
        reserve = catalog_settings().catalog_reserve_tokens + count_text(wanted.intent or "")
    ranking, warning = None, None
    if wanted.intent:
        priors = prior_sets.find(caller.tenant_id, loaded, wanted.session_id).say(wanted.intent)
        ranking = rank(loaded.index, wanted.intent, priors=priors)
        warning = gap_warning(ranking, loaded.missed(wanted.intent, priors))
    fitted = fit_catalog(
        loaded.ladder,
        catalog_budget(profile, wanted.model, reserve_tokens=reserve),
        ranked_ids=[entry.entry_id for entry in ranking.entries] if ranking else (),
        top_n=profile.top_n,
        gap_warning=warning,
    )
    _log_cut(loaded, wanted.model, fitted)
    answer = {
        "catalog": orjson.Fragment(fitted.text),
        "compaction": asdict(fitted.compaction),
        "gap_warning": fitted.gap_warning,
        "tier": profile.tier,
        "digest": loaded.digest,
    }
    return _json(answer, loaded.digest)


def _log_cut(loaded: LoadedCatalog, model: str, fitted: Fitted) -> None:
    if fitted.compaction.is_large_cut:
        log.info("catalog_compacted", model=model, digest=loaded.digest, **asdict(fitted.compaction))


def _ranked(entry: Ranked, *, explain: bool) -> dict[str, Any]:
    members: dict[str, Any] = {
        "id": entry.entry_id,
        "kind": entry.kind,
        "score": round(entry.score, 6),
        "lexical": round(entry.lexical, 6),
        "prior": round(entry.prior, 6),
    }
    return {**members, "reasons": entry.reasons} if explain else members


def _version_members(version: CatalogVersion) -> dict[str, Any]:
    return {
        "name": version.name,
        "digest": version.digest,
        "in_force": version.in_force,
        "tools": version.packs,
        "pipelines": version.pipelines,
        "bytes": len(version.body.encode()),
        "tokens": version.tokens,
        "put_at": version.put_at,
        "catalog": orjson.Fragment(version.body),
    }


def _etag(digest: str) -> str:
    return f'"{digest}"'


def _json(content: object, digest: str, later: BackgroundTask | None = None) -> Response:
    return Response(
        orjson.dumps(content),
        headers={"ETag": _etag(digest)},
        media_type="application/json",
        background=later,
    )
