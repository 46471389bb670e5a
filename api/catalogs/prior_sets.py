"""Sets of priors of a catalog over HTTP: list them, go back, and serve one to a share of sessions."""

from dataclasses import asdict

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.catalogs import CanaryShareAnswer, PriorSetEntry, PriorSets, SetInForce
from api.catalogs.routes import CatalogName
from api.http.call import Body, BodyCall, documented
from api.http.errors import ProblemError, committed, not_found
from context.types import JsonObject
from models.learning.canary import start_canary, stop_canary
from models.learning.prior_set import OtherSetError, SetKind, SetPlace, roll_back
from models.learning.progress import find_canary_share, set_canary_share
from models.learning.set_listing import SetFacts, list_sets
from models.learning.settings import learning_settings
from models.scope import Scope
from models.tenants.tenant import Caller

router = APIRouter(prefix="/v1/catalogs", tags=["catalogs"])
shares = APIRouter(prefix="/v1/canary-share", tags=["catalogs"])

MOST_SETS = 50


class SetToRollBack(Body):
    """The set to take out of force."""

    version: int = Field(
        ge=1,
        description="The set in force, as the caller knows it. Another one in force is a conflict, so that a "
        "repeated call takes no second set back.",
    )


class WantedCanary(Body):
    """A set to serve to a share of sessions."""

    version: int = Field(ge=1, description="A kept set that is not in force.")
    share: float = Field(
        gt=0, lt=1, description="Share of sessions; a session keeps its set as long as the canary runs."
    )
    days: int | None = Field(
        None, ge=1, le=365, description="Days after which the set is dropped without a verdict."
    )


class WantedShare(Body):
    """The tenant's share of sessions for canaries of later nights, or null for the installation's share."""

    share: float | None = Field(
        ge=0, lt=1, description="0 puts a better set in force at once; null follows the installation."
    )


@router.get("/{name}/priors", **answers(PriorSets, "list_priors", "List sets of priors"))
def show_priors(name: CatalogName, call: BodyCall) -> Response:
    """Answer with the newest sets of priors for a catalog's rankings: figures, judgement, and times."""
    caller = call.caller("read")
    with Scope.read(caller.tenant_id) as scope:
        found = list_sets(scope, kind=SetKind.RANKING, name=name, most=MOST_SETS)
    return _json({"sets": [_entry(one) for one in found]})


def _entry(one: SetFacts) -> JsonObject:
    plain = {field: getattr(one, field) for field in PriorSetEntry.model_fields if field != "canary"}
    canary = {**asdict(one.canary), "base": one.canary.base or None} if one.canary else None
    return {**plain, "canary": canary}


@router.post(
    "/{name}/priors/rollback",
    openapi_extra=documented(SetToRollBack),
    **answers(SetInForce, "roll_back_priors", "Roll back the set of priors in force"),
)
def roll_back_priors(name: CatalogName, call: BodyCall) -> Response:
    """Take the set in force out of use: the set before serves again, or words alone.

    The set keeps its evaluation; the key and the time are added to its reason.
    """
    caller, wanted = call.caller("admin"), call.body(SetToRollBack)
    place = SetPlace(caller.tenant_id, SetKind.RANKING, name)

    def go_back(scope: Scope) -> int | None:
        reason = f"taken out of force {_by(caller)}"
        return roll_back(scope.db, place, reason=reason, version=wanted.version)

    try:
        before = committed(caller.tenant_id, go_back)
    except OtherSetError as error:
        raise ProblemError(
            "priors-conflict",
            f"version: set {error.version} is in force and not set {wanted.version}; nothing was changed",
            field="version",
            in_force=error.version,
        ) from None
    except LookupError:
        raise not_found("set of priors in force") from None
    return _json({"in_force": before})


@router.post(
    "/{name}/priors/canary",
    openapi_extra=documented(WantedCanary),
    **answers(PriorSets, "start_canary", "Start serving a set of priors to a share of sessions"),
)
def start_prior_canary(name: CatalogName, call: BodyCall) -> Response:
    """Serve a set to a share of sessions, until the outcomes of plans promote or drop it.

    The answer lists the set. Each night's learning looks at the outcomes of whole days.
    """
    caller, wanted = call.caller("admin"), call.body(WantedCanary)
    place = SetPlace(caller.tenant_id, SetKind.RANKING, name)
    days = wanted.days or learning_settings().learn_canary_days

    def start(scope: Scope) -> list[SetFacts]:
        reason = f"served to {wanted.share:.0%} of sessions {_by(caller)}"
        start_canary(scope.db, place, wanted.version, share=wanted.share, days=days, reason=reason)
        found = list_sets(scope, kind=SetKind.RANKING, name=name, most=MOST_SETS)
        return [one for one in found if one.version == wanted.version]

    try:
        started = committed(caller.tenant_id, start)
    except LookupError:
        raise not_found("set of priors any more") from None
    return _json({"sets": [_entry(one) for one in started]})


@router.delete(
    "/{name}/priors/canary",
    **answers(SetInForce, "stop_canary", "Stop serving a set of priors to a share of sessions"),
)
def stop_prior_canary(name: CatalogName, call: BodyCall) -> Response:
    """Stop the canary: the set in force serves every session again."""
    caller = call.caller("admin")
    place = SetPlace(caller.tenant_id, SetKind.RANKING, name)
    reason = f"canary stopped {_by(caller)}"
    try:
        serving = committed(caller.tenant_id, lambda scope: stop_canary(scope.db, place, reason=reason))
    except LookupError:
        raise not_found("canary") from None
    return _json({"in_force": serving})


@shares.get("", **answers(CanaryShareAnswer, "get_canary_share", "Get the tenant's share of canaries"))
def show_canary_share(call: BodyCall) -> Response:
    """Answer with the share of sessions to which a night's better set is served first."""
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        return _answer_share(scope)


@shares.put(
    "",
    openapi_extra=documented(WantedShare),
    **answers(CanaryShareAnswer, "set_canary_share", "Set the tenant's share of canaries"),
)
def put_canary_share(call: BodyCall) -> Response:
    """Replace the tenant's share for the sets of later nights; a running canary keeps its own."""
    tenant_id, wanted = call.caller("admin").tenant_id, call.body(WantedShare)

    def put(scope: Scope) -> Response:
        set_canary_share(scope, wanted.share)
        return _answer_share(scope)

    return committed(tenant_id, put)


def _answer_share(scope: Scope) -> Response:
    return _json(find_canary_share(scope, learning_settings())._asdict())


def _by(caller: Caller) -> str:
    """Name the key of a deed; the key itself is never shown."""
    return f"over HTTP by key {caller.key_id}"


def _json(content: JsonObject) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
