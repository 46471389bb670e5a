"""The artifacts of a session over HTTP, with their summaries by focus."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import Field

from api.answers.base import answers
from api.answers.plans import SessionArtifacts
from api.http.call import BodyCall, Parameters, SessionId
from api.http.errors import not_found
from models.artifacts.listing import FocusSummary, SessionArtifact, list_artifacts, list_focus_summaries
from models.conversations.session import find_session
from models.database import read_transaction

router = APIRouter(prefix="/v1/sessions/{session_id}", tags=["artifacts"])

MOST_LISTED = 100
MOST_SUMMARIES = 200
"""Most summaries of an answer, of all its artifacts together."""


class WantedArtifacts(Parameters):
    """The part of the artifacts that is listed."""

    limit: int = Field(20, ge=1, le=MOST_LISTED, description="Most artifacts.")


@router.get("/artifacts", **answers(SessionArtifacts, "list_artifacts", "List the artifacts of a session"))
def show_artifacts(
    session_id: SessionId, call: BodyCall, wanted: Annotated[WantedArtifacts, Query()]
) -> Response:
    """Answer with the artifacts of a session's messages and uploads, and the summaries by focus.

    The newest 200 summaries are listed, of all the artifacts together.
    """
    tenant_id = call.caller("read").tenant_id
    with read_transaction() as db:
        found = list_artifacts(db, tenant_id, session_id, most=wanted.limit + 1)
        if not found and find_session(db, tenant_id, session_id) is None:
            raise not_found("session")
        shown = found[: wanted.limit]
        ids = [one.facts.artifact_id for one in shown]
        summaries = list_focus_summaries(db, tenant_id, ids, most=MOST_SUMMARIES)
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
