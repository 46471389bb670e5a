"""The context of the next request: what fits, and the proof."""

from fastapi import APIRouter, Response

from api.call import BodyCall, SessionId, documented
from api.waiting import wait_for_work
from api.window.activation import settle
from api.window.gather import fill_window
from api.window.learn import learn_request
from api.window.request import ContextRequest, ask, read_request
from api.window.respond import respond
from models.freshness import find_standing
from models.limit import find_limit
from models.session import reading
from models.work import WorkKind

router = APIRouter(prefix="/v1", tags=["context"])


@router.post("/sessions/{session_id}/context", openapi_extra=documented(ContextRequest))
def read_context(session_id: SessionId, call: BodyCall) -> Response:
    """Answer with the newest summary in force and the raw turns after it, within the budget."""
    caller = call.caller("read")
    request = call.body(ContextRequest)
    given = read_request(request)
    if request.wait_ms:
        wait_for_work(caller.tenant_id, WorkKind.SUMMARIZE, session_id, request.wait_ms)
    with reading() as db:
        standing = find_standing(db, caller.tenant_id, session_id, request.model)
        limit = standing.learned_limit if standing else find_limit(db, caller.tenant_id, request.model)
    asked = ask(request, given, limit)
    standing, activation = settle(caller.tenant_id, standing, asked) if standing else (None, None)
    window = fill_window(caller.tenant_id, request, given, standing, asked.budget)
    if standing:
        learn_request(caller.tenant_id, standing, asked)
    return respond(request, window, standing, asked, learned_limit=limit, activation=activation)
