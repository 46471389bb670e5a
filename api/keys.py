"""API keys of a tenant over HTTP: create, list, revoke."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query, Response, status
from pydantic import Field

from api.answers.base import KeyEntry, KeyList, NewKey, answers
from api.http.call import Body, BodyCall, Parameters, documented
from api.http.errors import ProblemError, committed, not_found
from models.database import database_now, read_transaction
from models.scope import Scope
from models.tenants.row_security import outside_wall
from models.tenants.tenant import (
    SCOPES,
    ApiKey,
    Caller,
    count_keys,
    create_key,
    find_key,
    page_keys,
    revoke_key,
)

router = APIRouter(prefix="/v1", tags=["keys"])

MOST_KEYS = 1_000
"""Most keys of a tenant in force, over HTTP."""

MOST_LISTED = 200
MOST_DAYS = 36_500
NO_STORE = {"Cache-Control": "no-store"}

KeyScope = Literal["read", "write", "admin"]


class WantedKey(Body):
    """A key to create."""

    label: str = Field(min_length=1, max_length=200, description="What the key is for.")
    scopes: list[KeyScope] | None = Field(
        None, min_length=1, max_length=3, description="What the key may do; all of the caller's if not given."
    )
    days: int | None = Field(
        None, ge=1, le=MOST_DAYS, description="Days after which the key is refused; never if not given."
    )


class WantedKeys(Parameters):
    """A page of keys."""

    limit: int = Field(50, ge=1, le=MOST_LISTED, description="Most entries of the page.")
    cursor: str = Field("", max_length=200, description="The `next` of the page before.")


KeyId = Annotated[str, Path(description="The key's id, as the list names it.")]


@router.post(
    "/keys",
    status_code=status.HTTP_201_CREATED,
    openapi_extra=documented(WantedKey),
    **answers(NewKey, "create_key", "Create a key"),
)
def make_key(call: BodyCall) -> Response:
    """Make a key of the caller's tenant and answer with it, once: only a hash is stored.

    A key may do no more than the key that makes it, and ends no later.
    """
    caller = call.caller("admin")
    wanted = call.body(WantedKey)
    scopes = _allowed(caller, wanted)
    lasts = None if wanted.days is None else timedelta(days=wanted.days)

    def create(scope: Scope) -> dict[str, Any]:
        if count_keys(scope) >= MOST_KEYS:
            message = f"keys: {MOST_KEYS} are in force; revoke one first"
            raise ProblemError("too-large", message, field="keys", limit=MOST_KEYS)
        made = create_key(scope, label=wanted.label, scopes=scopes, lasts=lasts, maker=caller.key_id)
        found = find_key(scope, made.split("_")[1])
        if found is None:
            raise not_found("key")
        return {"key": made, **_entry(found, database_now(scope.db))}

    with outside_wall():
        return _json(committed(caller.tenant_id, create), status.HTTP_201_CREATED)


def _allowed(caller: Caller, wanted: WantedKey) -> tuple[str, ...]:
    """Return the scopes of a new key, in their usual order.

    Raises:
        ProblemError: The caller's key lacks one of them.
    """
    asked = frozenset(wanted.scopes or caller.scopes)
    for scope in SCOPES:
        if scope in asked - caller.scopes:
            raise ProblemError(
                "forbidden", f"this key lacks the scope {scope!r}, so it can make no key with it", scope=scope
            )
    return tuple(scope for scope in SCOPES if scope in asked)


@router.get("/key", **answers(KeyEntry, "get_key", "Get the key in use"))
def show_key(call: BodyCall) -> Response:
    """Answer with the caller's own key, without its secret: what it may do, and until when."""
    caller = call.caller("read")
    with outside_wall(), read_transaction() as db:
        found = find_key(Scope(db, caller.tenant_id), caller.key_id)
        if found is None:
            raise not_found("key")
        return _json(_entry(found, database_now(db)))


@router.get("/keys", **answers(KeyList, "list_keys", "List keys"))
def show_keys(call: BodyCall, wanted: Annotated[WantedKeys, Query()]) -> Response:
    """Answer with a page of the tenant's keys in the order of their ids, without any secret."""
    caller = call.caller("admin")
    with outside_wall(), read_transaction() as db:
        found = page_keys(Scope(db, caller.tenant_id), after=wanted.cursor, most=wanted.limit)
        now = database_now(db)
    read_on = found[-1].key_id if len(found) == wanted.limit else None
    return _json({"keys": [_entry(key, now) for key in found], "next": read_on})


@router.delete("/keys/{key_id}", **answers(KeyEntry, "revoke_key", "Revoke a key"))
def end_key(key_id: KeyId, call: BodyCall) -> Response:
    """Refuse a key of the tenant from now on, the caller's own too; the same call again changes nothing."""
    caller = call.caller("admin")

    def revoke(scope: Scope) -> dict[str, Any]:
        revoke_key(scope, key_id)
        found = find_key(scope, key_id)
        if found is None:
            raise not_found("key")
        return _entry(found, database_now(scope.db))

    with outside_wall():
        return _json(committed(caller.tenant_id, revoke))


def _entry(key: ApiKey, now: datetime) -> dict[str, Any]:
    return {
        "key_id": key.key_id,
        "label": key.label,
        "scopes": key.scopes,
        "state": _state(key, now),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
    }


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "in_force"


def _json(content: dict[str, Any], code: int = status.HTTP_200_OK) -> Response:
    return Response(orjson.dumps(content), code, NO_STORE, "application/json")
