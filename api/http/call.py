"""A call: its caller and its body. The body is read once, with a size limit, and strictly."""

import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from threading import Lock
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

from anyio import fail_after, to_thread
from fastapi import Depends, Header, Path, Request
from pydantic import (
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema
from starlette.requests import ClientDisconnect

from api.cache import FreshCache
from api.http.caller_limits import limits, take_place
from api.http.errors import ProblemError, kinds_of, validation_error
from api.http.middleware import TENANT
from api.http.values import Cleaned, check_id, is_id, make_strict, read_scalar, refuse_unclean_ids
from api.settings import ApiSettings, api_settings
from context.errors import InvalidInputError
from context.text.sanitize import clean_json, clean_text, id_fault, parse_json
from models.database import read_transaction
from models.telemetry.tracing import annotate
from models.tenants.row_security import keep_to
from models.tenants.tenant import Caller, find_caller

SMALL_BODY_BYTES = 65_536
"""Largest body, in bytes, read before the call is counted; saves most calls a change of threads."""

_COUNTED = "afterturn.counted"
_HELD_BACK = "afterturn.held_back"


class Body(Cleaned):
    """A request body: unknown fields are refused, not silently dropped; numbers and booleans are strict."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Build the schema of the class, with strict numbers and booleans."""
        strict: CoreSchema = make_strict(handler(source))
        return strict


class Parameters(Body):
    """The parameters of an address, cleaned like a body: the same text means the same in both."""

    @model_validator(mode="before")
    @classmethod
    def _clean(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        kinds = {field.alias or name: kinds_of(field.annotation) for name, field in cls.model_fields.items()}
        cleaned = {**clean_json(given)[0], **{name: value for name, value in given.items() if is_id(name)}}
        return {name: read_scalar(value, kinds.get(name, frozenset())) for name, value in cleaned.items()}

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_unclean_id(cls, given: Any, info: ValidationInfo) -> Any:
        """Refuse an id changed by cleaning, since another id would be meant."""
        if is_id(info.field_name or "") and isinstance(given, str) and clean_text(given) is not given:
            raise ValueError(id_fault(given))
        return given


Model = TypeVar("Model", bound=Body)


class Call:
    """A request with its body read; the rest happens in the endpoint's own thread."""

    def __init__(self, request: Request, raw: bytes, *, was_cleaned: bool = False) -> None:
        """Keep the request and its body, and whether the body's text was already changed on entry."""
        self.raw = raw
        self._request = request
        self._was_cleaned = was_cleaned

    def caller(self, *scopes: str) -> Caller:
        """Find the caller by key, and count the call.

        Raises:
            ProblemError: The key is missing, wrong, over its rate limit, or lacks the scopes; with a valid
                key, an id in the path is faulty.
        """
        caller = _charge(self._request)
        for scope in scopes:
            if scope not in caller.scopes:
                raise ProblemError("forbidden", f"this key lacks the scope {scope!r}", scope=scope)
        if _HELD_BACK in self._request.scope:
            raise self._request.scope[_HELD_BACK]
        keep_to(caller.tenant_id)
        annotate(afterturn__tenant_id=str(caller.tenant_id))
        return caller

    def body(self, model: type[Model]) -> Model:
        """Read the body as JSON, cleaned, against a schema."""
        read, _ = read_as(model, self.raw)
        if self._was_cleaned:
            read.mark_cleaned()
        return read


def hold_back(request: Request, fault: ProblemError) -> None:
    """Hold back the fault of an id in the path until the caller's scope for the call is checked."""
    request.scope.setdefault(_HELD_BACK, fault)


def key_of(request: Request) -> str | None:
    """Read the request's key, if present."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def _charge(request: Request) -> Caller:
    """Find the caller by the request's key, and count the request once.

    Raises:
        ProblemError: The key is missing, wrong, or over its rate limit.
    """
    caller = _find(request, key_of(request))
    request.scope[TENANT] = str(caller.tenant_id)
    if _COUNTED not in request.scope:  # a tool of the other protocol asks more than once
        request.scope[_COUNTED] = True
        limits.charge(caller.key_id)
    return caller


def _find(request: Request, key: str | None) -> Caller:
    """Find the caller by key; after many wrong keys from an address, lookups stop for a while.

    Raises:
        ProblemError: The key is missing or wrong, or the address sent too many unknown keys.
    """
    if key is None:
        raise unauthorized()
    address = request.client.host if request.client else ""
    if not callers.has_known(key):
        limits.meet(address)
    caller = callers.find(key)
    if caller is None:
        limits.note_wrong_key(address)
        raise unauthorized()
    return caller


def unauthorized() -> ProblemError:
    """Build the same error for a missing, wrong, expired or revoked key."""
    return ProblemError("unauthorized", "send `Authorization: Bearer <key>` with a key that is in force")


def read_as(model: type[Model], raw: bytes) -> tuple[Model, bool]:
    """Read JSON, cleaned once at the door, against a schema; and say whether anything had to be cleaned.

    Raises:
        AfterturnError: Where it is not JSON, or not of the schema; the field is named.
    """
    try:
        value, cleaned = parse_json(raw, max_depth=api_settings().max_depth)
    except InvalidInputError as error:
        raise ProblemError("invalid-json", error.message, **error.numbers) from None
    try:
        read = model.model_validate(value)
    except ValidationError as error:
        raise validation_error(error) from None
    if cleaned:
        refuse_unclean_ids(model, json.loads(raw))
        read.mark_cleaned()
    return read, cleaned


class CallerCache:
    """Cache of recently valid keys; only digests are kept, for a short time."""

    def __init__(self, most: int = 10_000) -> None:
        """Hold at most so many keys."""
        self._found = FreshCache[bytes, Caller](lambda: api_settings().key_cache_s, most)
        self._ever: dict[bytes, None] = {}
        self._most = most
        self._lock = Lock()

    def find(self, key: str) -> Caller | None:
        """Find the caller of a key, or None."""
        known = self.fresh(key)
        if known is not None:
            return known
        digest, since = _digest(key), time.monotonic()
        with read_transaction() as db:
            caller = find_caller(db, key)
        if caller is None:
            self._found.drop(digest)
            return None
        with self._lock:
            self._keep(digest)
        return self._found.keep(digest, caller, since=since)

    def _keep(self, digest: bytes) -> None:
        self._ever.pop(digest, None)
        self._ever[digest] = None
        if len(self._ever) > self._most:
            del self._ever[next(iter(self._ever))]

    def has_known(self, key: str) -> bool:
        """Tell whether the key is remembered as once valid, without a query."""
        return _digest(key) in self._ever

    def fresh(self, key: str) -> Caller | None:
        """Find the caller of a recently valid key, without a query."""
        return self._found.fresh(_digest(key))


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


callers = CallerCache()


def reader(
    limit_of: Callable[[ApiSettings], int], *, takes_place: bool = True
) -> Callable[[Request], Awaitable[Call]]:
    """Make a dependency to read a body of limited size, and to take a place of the tenant after it."""

    async def read(request: Request) -> Call:
        await _let_in(request)
        settings = api_settings()
        try:
            with fail_after(settings.body_timeout_s):
                raw = await _body(request, limit_of(settings))
        except ClientDisconnect:  # nobody hears it; it is no fault of ours, and is not counted as one
            raise ProblemError("body-incomplete", "body: it broke off", field="body") from None
        except TimeoutError:
            message = f"body: did not arrive within {settings.body_timeout_s:g} s"
            raise ProblemError("body-timeout", message, field="body") from None
        if takes_place:
            await take_place_of_caller(request)
        return Call(request, raw)

    return read


async def take_place_of_caller(request: Request) -> None:
    """Wait for a free place of the tenant; a body still being received has no place.

    Raises:
        ProblemError: No place becomes free in time.
    """
    caller = await caller_of(request)
    if caller is not None:
        await take_place(request.scope, caller.tenant_id)


async def caller_of(request: Request) -> Caller | None:
    """Find the caller of a request, without counting the call."""
    key = key_of(request)
    return None if key is None else (callers.fresh(key) or await to_thread.run_sync(callers.find, key))


async def _let_in(request: Request) -> None:
    """Refuse a missing or unknown key before reading the body, so that strangers cost no memory.

    A large body is counted before reading, so callers over their limit cost no memory either.

    Raises:
        ProblemError: The key is missing, wrong, or over its rate limit.
    """
    length = request.headers.get("content-length", "")
    if not length.isdecimal() or int(length[:20]) > SMALL_BODY_BYTES:
        await to_thread.run_sync(_charge, request)
        return
    key = key_of(request)
    if key is None or callers.fresh(key) is None:
        await to_thread.run_sync(_find, request, key)


async def _body(request: Request, limit: int) -> bytes:
    """Read a body, up to its limit.

    Raises:
        ProblemError: The body is larger, or compressed.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        message = f"Content-Encoding: {encoding[:40]!r} is not taken; send the body as it is"
        raise ProblemError("invalid-input", message, field="Content-Encoding")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > limit:
            raise ProblemError("too-large", f"body: larger than {limit} bytes", field="body", limit=limit)
        chunks.append(chunk)
    return b"".join(chunks)


BodyCall = Annotated[Call, Depends(reader(lambda settings: settings.max_body_bytes))]
BatchCall = Annotated[Call, Depends(reader(lambda settings: settings.max_batch_bytes))]
ChangeCall = Annotated[Call, Depends(reader(lambda settings: settings.max_body_bytes, takes_place=False))]
ChangeBatch = Annotated[Call, Depends(reader(lambda settings: settings.max_batch_bytes, takes_place=False))]
EndlessCall = Annotated[Call, Depends(reader(lambda settings: settings.max_body_bytes, takes_place=False))]


async def read_ids(request: Request) -> None:
    """Decode the ids of the path; a fault of `check_id` waits for the check of the caller's scope."""
    ids = request.path_params
    for field, encoded in ids.items():
        ids[field] = unquote(encoded)
        try:
            check_id(ids[field], field)
        except ProblemError as fault:
            hold_back(request, fault)


def number_in_path(request: Request, value: str, field: str, most: int) -> int:
    """Read a number from 1 up to `most`; 1 for an invalid number, with the fault held back."""
    number = read_scalar(value, frozenset({int}))
    if not isinstance(number, int):
        hold_back(request, ProblemError("invalid-input", f"{field}: must be a whole number", field=field))
        return 1
    if 1 <= number <= most:
        return number
    said, limit = ("at least", 1) if number < 1 else ("at most", most)
    message = f"{field}: must be {said} {limit}"
    hold_back(request, ProblemError("invalid-input", message, field=field, limit=limit))
    return 1


def number_schema(most: int) -> dict[str, Any]:
    """Describe a number of the path, for the OpenAPI document."""
    return {"type": "integer", "minimum": 1, "maximum": most}


SessionId = Annotated[str, Path(description="The conversation, as the platform names it.")]


IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=255,
        description="A name of the caller's choice for this call: sent again, the call has its effect once.",
    ),
]


def digest_of(key: str | None) -> bytes | None:
    """Hash an idempotency key for storage."""
    return None if key is None else _digest(key)


def documented(model: type[Body], content_type: str = "application/json") -> dict[str, Any]:
    """Describe a body read by the endpoint itself, for the OpenAPI document."""
    schema = model.model_json_schema()
    parts = schema.pop("$defs", {})
    whole = _resolve(schema, parts)
    return {"requestBody": {"required": True, "content": {content_type: {"schema": whole}}}}


def in_address(**schemas: Mapping[str, Any]) -> dict[str, Any]:
    """Describe query parameters read by the endpoint itself, for the OpenAPI document.

    Args:
        schemas: The JSON schema of each parameter, with a description; `from_` stands for `from`.
    """
    return {
        "parameters": [
            {
                "name": name.rstrip("_"),
                "in": "query",
                "required": False,
                "description": schema["description"],
                "schema": {key: value for key, value in schema.items() if key != "description"},
            }
            for name, schema in schemas.items()
        ]
    }


def _resolve(schema: Any, parts: Mapping[str, Any]) -> Any:
    """Inline all referenced parts, since the document's own list does not contain the parts."""
    if isinstance(schema, list):
        return [_resolve(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    rest = {key: _resolve(value, parts) for key, value in schema.items() if key != "$ref"}
    return {**_resolve(parts[name], parts), **rest} if name else rest
