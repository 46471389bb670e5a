"""Artifacts over HTTP, and the artifacts of a session with their summaries by focus."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any
from uuid import UUID

import orjson
import structlog
from fastapi import APIRouter, Depends, Path, Query, Request, Response, status
from pydantic import Field
from sqlalchemy.exc import SQLAlchemyError

from api.answers.base import answers
from api.answers.plans import ArtifactSummaryAnswer, SessionArtifacts, ShownArtifact, SummaryRequested
from api.artifacts.attachments import MOST_CONTENT_CHARS, check_parameters
from api.context.artifact_summaries import Match, find_maker, find_matches
from api.http.call import (
    Body,
    BodyCall,
    Call,
    Parameters,
    SessionId,
    documented,
    hold_back,
    in_address,
    reader,
)
from api.http.errors import ProblemError, committed, not_found
from api.http.values import check_id
from api.http.waiting import wait_for_work
from context.artifacts.content import is_artifact_id
from context.focus import Focus, SizeClass, normalise
from context.precompute.prompt import ARTIFACT_PROMPT_VERSION
from context.text.language import UNKNOWN
from context.text.sanitize import clean_text
from models.artifacts.artifact import ArtifactFacts, find_artifact, hold_artifact, load_slice
from models.artifacts.listing import FocusSummary, SessionArtifact, list_artifacts, list_focus_summaries
from models.artifacts.settings import artifact_settings
from models.artifacts.summary import UNDECIDED, ReadingState, SummaryKey, Wish, want_summary
from models.artifacts.summary_cache import tie_summaries, want_anew
from models.artifacts.summary_lookup import Maker, find_standing
from models.conversations.session import find_session
from models.due_work.queue import WorkKind, enqueue
from models.hints import Hints, leave_hints
from models.scope import Scope

log = structlog.get_logger()
router = APIRouter(prefix="/v1/artifacts/{artifact_id}", tags=["artifacts"])

MOST_FOCUS_CHARS = 2_000
SIZE = SizeClass.MEDIUM
"""Size of a summary requested by its focus only."""

TOO_SMALL = "too-small"
LEAST_ARTIFACT_TOKENS = 60
"""Least size of an artifact with summaries; a summary of a third would be too short to be useful."""

MOST_PLACE = 999_999_999
"""Last place of a text that a call may name; fits 32 bits."""


async def _artifact_id(
    request: Request,
    artifact_id: Annotated[str, Path(description="As a pointer or an upload's answer names it.")],
) -> str:
    if not is_artifact_id(artifact_id):
        hold_back(request, not_found("artifact"))
    return artifact_id


ArtifactId = Annotated[str, Depends(_artifact_id)]
BareCall = Annotated[Call, Depends(reader(lambda _: 1024))]


class SummaryWish(Body):
    """Request for a summary of an artifact."""

    focus: str = Field(max_length=MOST_FOCUS_CHARS, description="In words; empty for the general summary.")
    wait_ms: int = Field(0, ge=0, description="How long to wait for it; 0 answers at once.")
    again: bool = Field(default=False, description="Whether one that was rejected is tried, and paid, anew.")
    session_id: str | None = Field(
        None,
        description="The conversation whose words the focus is, begun or not: they are erased with it. "
        "With neither this nor a user, nobody knows whose they are, and they live until they expire.",
    )
    user_id: str | None = Field(None, description="The user whose words the focus is: erased with the user.")


_CHARS = {"type": "integer", "minimum": 0, "maximum": 999_999_999}


@router.get(
    "",
    openapi_extra=in_address(
        from_={**_CHARS, "description": "The first character that is shown; 0 where only `to` is given."},
        to={**_CHARS, "description": "The character before which to end; not before `from`."},
    ),
    **answers(ShownArtifact, "get_artifact", "Get an artifact"),
)
def show_artifact(artifact_id: ArtifactId, request: Request, call: BareCall) -> Response:
    """Answer with an artifact's facts; with `from` and `to`, also with the range of its text."""
    caller = call.caller("read")
    check_parameters(request, ("from", "to"))
    asked = _range(request)
    with Scope.read(caller.tenant_id) as scope:
        facts = find_artifact(scope, artifact_id)
        if facts is None:
            raise not_found("artifact")
        answer = _facts(facts)
        if asked is not None:
            answer["slice"] = _slice(scope, facts, *asked)
    return _json(answer)


@router.put(
    "/summaries",
    status_code=status.HTTP_202_ACCEPTED,
    openapi_extra=documented(SummaryWish),
    **answers(
        SummaryRequested,
        "request_artifact_summary",
        "Request a summary of an artifact",
        s200="The summary is ready, or was rejected.",
    ),
)
def ask_for_summary(artifact_id: ArtifactId, call: BodyCall) -> Response:
    """Request a summary ahead of use: 202 while in preparation, 200 once ready or rejected.

    The words of the focus are stored. Name the `session_id` or `user_id` of their owner, and the words are
    erased with the owner. Without an owner, the words live until the summary expires, 30 days by default, or
    until somebody with the artifact is erased.
    """
    caller = call.caller("write")
    body = call.body(SummaryWish)
    for field in ("session_id", "user_id"):
        if getattr(body, field) is not None:
            check_id(getattr(body, field), field)
    focus, maker = normalise(body.focus), find_maker()

    def ask(scope: Scope) -> tuple[ArtifactFacts, ReadingState, str | None]:
        facts = hold_artifact(scope, artifact_id)
        if facts is None:
            raise not_found("artifact")
        wish = _wish(_key(facts, focus, maker), focus, body)
        stands = _want(scope, facts, wish, again=body.again, maker=maker)
        tie_summaries(scope, wish.key, session_id=wish.session_id, user_id=wish.user_id)
        return facts, *stands

    facts, state, reason = committed(caller.tenant_id, ask)
    if state is ReadingState.WANTED and body.wait_ms:
        wait_for_work(caller.tenant_id, WorkKind.ARTIFACT, artifact_id, body.wait_ms)
        with Scope.read(caller.tenant_id) as scope:
            stands = find_standing(scope, _key(facts, focus, maker), maker=maker)
        state, reason = stands or (state, None)
    code = status.HTTP_202_ACCEPTED if state is ReadingState.WANTED else status.HTTP_200_OK
    answer = {"artifact_id": artifact_id, "focus": body.focus, "focus_key": focus.key, "state": state}
    return _json(answer if reason is None else {**answer, "reason": reason}, code)


@router.get(
    "/summaries",
    openapi_extra=in_address(
        focus={
            "type": "string",
            "maxLength": MOST_FOCUS_CHARS,
            "description": "What one wants to know of it; the general summary where it is missing.",
        }
    ),
    **answers(ArtifactSummaryAnswer, "get_artifact_summary", "Get a summary of an artifact"),
)
def show_summary(artifact_id: ArtifactId, request: Request, call: BareCall) -> Response:
    """Answer with the summary for `?focus=`: the exact summary, else a near one marked as near, else 404."""
    caller = call.caller("read")
    check_parameters(request, ("focus",))
    words = clean_text(request.query_params.get("focus", ""))
    if len(words) > MOST_FOCUS_CHARS:
        message = f"focus: is too long: at most {MOST_FOCUS_CHARS} characters"
        raise ProblemError("invalid-input", message, field="focus", limit=MOST_FOCUS_CHARS)
    focus, maker = normalise(words), find_maker()
    with Scope.read(caller.tenant_id) as scope:
        facts = find_artifact(scope, artifact_id)
        if facts is None:
            raise not_found("artifact")
        found = find_matches(scope, [artifact_id], focus, maker).get(artifact_id)
        stands = find_standing(scope, _key(facts, focus, maker), maker=maker)
    _remember(caller.tenant_id, found, maker)
    if found is None:
        raise _no_summary(request.url.path, focus, stands)
    return _json(_answer(words, found))


def _no_summary(path: str, focus: Focus, stands: tuple[ReadingState, str | None] | None) -> ProblemError:
    members: dict[str, object] = {"focus_key": focus.key}
    said = f"ask for it by `PUT {path}`"
    if stands is not None:
        members["state"] = stands[0]
    if stands is not None and stands[0] is ReadingState.REJECTED:
        members["reason"] = stands[1]
        said = f"the one that was made was rejected ({stands[1]}); `PUT {path}` with `again` tries anew"
    return ProblemError(
        "not-found", f"this artifact has no summary for this focus, nor for a near one; {said}", **members
    )


def _key(facts: ArtifactFacts, focus: Focus, maker: Maker) -> SummaryKey:
    """Build the key of a present summary; the worker chooses its model."""
    prompt = maker.prompt_version or ARTIFACT_PROMPT_VERSION
    language = focus.language if focus.language != UNKNOWN else facts.language or UNKNOWN
    return SummaryKey(facts.artifact_id, focus.key, SIZE, language, prompt_version=prompt)


def _wish(key: SummaryKey, focus: Focus, body: SummaryWish) -> Wish:
    """Build the request, with the owner of its words; the general summary has no owner."""
    owners = (None, None) if focus.is_general else (body.session_id, body.user_id)
    return Wish(key, focus.original, focus.terms, "asked", *owners)


def _want(
    scope: Scope, facts: ArtifactFacts, wish: Wish, *, again: bool, maker: Maker
) -> tuple[ReadingState, str | None]:
    """Store the request and its work in a transaction; a rejected summary is not paid for twice."""
    if facts.tokens < LEAST_ARTIFACT_TOKENS:
        return ReadingState.REJECTED, TOO_SMALL
    stands = find_standing(scope, wish.key, maker=maker)
    if stands is not None and (stands[0] is ReadingState.READY or not (again or stands[1] is None)):
        return stands
    undecided = replace(wish, key=replace(wish.key, prompt_version=UNDECIDED))
    state = want_summary(scope, undecided, ttl_s=artifact_settings().artifact_summary_ttl_s, again=True)
    if state is ReadingState.WANTED:
        enqueue(scope, WorkKind.ARTIFACT, facts.artifact_id)
    return state, None


def _remember(tenant_id: UUID, found: Match | None, maker: Maker) -> None:
    """Queue outdated summaries again, count the quality of the match, and record the use, as hints only."""
    try:
        with Scope.best_effort(tenant_id) as scope:
            if found and found.other_summarizer and found.answers_focus:
                want_anew(scope, found.summary, maker, ttl_s=artifact_settings().artifact_summary_ttl_s)
            shown = [found.summary.key] if found else []
            leave_hints(scope, Hints(readings={found.how if found else "none": 1}, summaries=shown))
    except SQLAlchemyError as error:
        log.warning("hint_lost", error=type(error).__name__)


def _answer(focus: str, found: Match) -> dict[str, Any]:
    summary = found.summary
    return {
        "artifact_id": summary.key.artifact_id,
        "match": found.how,
        "similarity": round(found.similarity, 4),
        "other_summarizer": found.other_summarizer,
        "asked_focus": focus,
        "focus": summary.focus,
        "focus_key": normalise(summary.focus).key,
        "text": summary.text,
        "tokens": summary.tokens,
        "language": summary.key.language,
        "size_class": summary.key.size_class,
        "model": summary.key.model,
        "prompt_version": summary.key.prompt_version,
        "method": summary.method,
        "ready_at": summary.ready_at,
    }


def _range(request: Request) -> tuple[int, int | None] | None:
    if not request.query_params:
        return None
    start, end = (_number(request, name) for name in ("from", "to"))
    if end is not None and end < (start or 0):
        raise ProblemError("invalid-input", "to: must not be before from", field="to")
    return start or 0, end


def _number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name)
    if value is None:
        return None
    if not (value.isascii() and value.isdigit()):
        raise ProblemError("invalid-input", f"{name}: must be a whole number, at least 0", field=name)
    if len(value) > len(str(MOST_PLACE)):
        problem = f"{name}: must be at most {MOST_PLACE}"
        raise ProblemError("invalid-input", problem, field=name, limit=MOST_PLACE)
    return int(value)


def _slice(scope: Scope, facts: ArtifactFacts, start: int, end: int | None) -> dict[str, Any]:
    """Read a part of the text; beyond an answer's limit, continue at `next_from`."""
    wanted = min(facts.size_chars if end is None else end, facts.size_chars)
    stop = min(wanted, start + MOST_CONTENT_CHARS)
    text = load_slice(scope, facts.artifact_id, start=start, length=max(stop - start, 0)) or ""
    return {
        "from": start,
        "to": start + len(text),
        "text": text,
        "next_from": stop if stop < wanted else None,
    }


def _facts(facts: ArtifactFacts) -> dict[str, Any]:
    return {
        "artifact_id": facts.artifact_id,
        "artifact_type": facts.artifact_type.value,
        "kind": facts.kind.value,
        "title": facts.title,
        "media_type": facts.media_type,
        "size_chars": facts.size_chars,
        "size_bytes": facts.size_bytes,
        "tokens": facts.tokens,
        "language": facts.language,
        "preview": facts.preview,
        "indexed": facts.indexed_with is not None,
        "created_at": facts.created_at,
        "last_used_at": facts.last_used_at,
    }


def _json(content: dict[str, Any], code: int = status.HTTP_200_OK) -> Response:
    return Response(orjson.dumps(content), code, media_type="application/json")


listing = APIRouter(prefix="/v1/sessions/{session_id}", tags=["artifacts"])

MOST_LISTED = 100
MOST_SUMMARIES = 200
"""Most summaries of an answer, of all its artifacts together."""


class WantedArtifacts(Parameters):
    """The part of the artifacts that is listed."""

    limit: int = Field(20, ge=1, le=MOST_LISTED, description="Most artifacts.")


@listing.get("/artifacts", **answers(SessionArtifacts, "list_artifacts", "List the artifacts of a session"))
def show_artifacts(
    session_id: SessionId, call: BodyCall, wanted: Annotated[WantedArtifacts, Query()]
) -> Response:
    """Answer with the artifacts of a session's messages and uploads, and the summaries by focus.

    The newest 200 summaries are listed, of all the artifacts together.
    """
    tenant_id = call.caller("read").tenant_id
    with Scope.read(tenant_id) as scope:
        found = list_artifacts(scope, session_id, most=wanted.limit + 1)
        if not found and find_session(scope, session_id) is None:
            raise not_found("session")
        shown = found[: wanted.limit]
        ids = [one.facts.artifact_id for one in shown]
        summaries = list_focus_summaries(scope, ids, most=MOST_SUMMARIES)
    by_artifact: dict[str, list[FocusSummary]] = defaultdict(list)
    for one in summaries:
        by_artifact[one.key.artifact_id].append(one)
    answer = {
        "artifacts": [_artifact(one, by_artifact[one.facts.artifact_id]) for one in shown],
        "more": len(found) > len(shown),
    }
    return Response(orjson.dumps(answer), media_type="application/json")


_FACTS = (
    *("artifact_id", "artifact_type", "kind", "title", "size_chars", "tokens", "preview"),
    *("created_at", "last_used_at"),
)


def _artifact(one: SessionArtifact, summaries: Sequence[FocusSummary]) -> dict[str, Any]:
    facts = {name: getattr(one.facts, name) for name in _FACTS}
    return {
        **facts,
        "uses": one.uses,
        "last_seq": one.last_seq,
        "summaries": [_summary(summary) for summary in summaries],
    }


def _summary(one: FocusSummary) -> dict[str, Any]:
    members = asdict(one)
    key = members.pop("key")
    return {**members, "language": key["language"], "model": key["model"]}
