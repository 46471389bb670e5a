"""Attachments: documents stored once, by content, and used by id in later calls."""

import base64
import binascii
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Path, Request, Response, status
from pydantic import Field, ValidationError

from api.answers.base import answers
from api.answers.plans import AttachmentAnswer, UploadedAttachment
from api.artifacts.documents.read import PDF, Document, read_document, read_inline, read_media_type
from api.http.call import Body, Call, documented, hold_back, in_address, read_as, reader
from api.http.errors import ProblemError, committed, not_found, validation_error
from api.http.values import check_id, refuse_unclean_ids
from context.artifacts.content import document_artifact, is_artifact_id
from context.text.sanitize import CLEANED, clean_text
from models.artifacts.artifact import NewArtifact, load_slice, new_artifact, store_artifacts
from models.artifacts.attachment import NewAttachment, StoredAttachment, add_attachment, load_attachments
from models.artifacts.settings import artifact_settings
from models.due_work.queue import WorkKind, enqueue
from models.scope import Scope

router = APIRouter(prefix="/v1", tags=["artifacts"])

JSON = "application/json"
UNSAID = "application/x-www-form-urlencoded"
"""Content type sent by curl without an explicit type; all other calls read such a body as JSON."""

MOST_TITLE_CHARS = 300
MOST_SOURCE_CHARS = 2_000
MOST_CONTENT_CHARS = 200_000
"""Most characters of a document in an answer; the rest is read in slices."""

_PARAMETERS = ("title", "source", "attachment_type", "session_id", "user_id", "raw")


class AttachmentUpload(Body):
    """A document inside a JSON body."""

    content: str | None = Field(None, description="The document as text.")
    content_base64: str | None = Field(None, description="The document's bytes, in base64.")
    title: str = Field("", max_length=MOST_TITLE_CHARS, description="What people call it.")
    source: str = Field(
        "", max_length=MOST_SOURCE_CHARS, description="Where it comes from, as a URL or path."
    )
    media_type: str | None = Field(None, max_length=200, description="What it is; text/plain by default.")
    attachment_type: str = Field(
        "document", pattern=r"^[a-z][a-z0-9_-]{0,39}$", description="What it is for: document, data, ..."
    )
    session_id: str = Field(
        "",
        max_length=200,
        description="The only session that it is for: it is erased with it. With neither this nor a user, it "
        "is the tenant's own document, and stays.",
    )
    user_id: str = Field("", max_length=200, description="Whose it is: it is erased with the user.")


@dataclass(frozen=True)
class Upload:
    """A parsed document with its given metadata."""

    document: Document
    said: NewAttachment


UploadCall = Annotated[Call, Depends(reader(lambda _: 2 * artifact_settings().attachment_max_bytes + 2**16))]
"""Call with a body limit of twice a document's size, since base64 and escapes lengthen the document."""


async def _attachment_id(
    request: Request,
    attachment_id: Annotated[str, Path(description="The id that the upload was answered with.")],
) -> str:
    if not is_artifact_id(attachment_id):
        hold_back(request, not_found("attachment"))
    return attachment_id


AttachmentId = Annotated[str, Depends(_attachment_id)]


_RAW = {"type": "boolean", "description": "Whether a JSON body is the document itself."}
_FIELDS = AttachmentUpload.model_json_schema()["properties"]
_SAID = {name: _RAW if name == "raw" else _FIELDS[name] for name in _PARAMETERS}


@router.post(
    "/attachments",
    status_code=status.HTTP_201_CREATED,
    openapi_extra={**documented(AttachmentUpload), **in_address(**_SAID)},
    **answers(
        UploadedAttachment, "upload_attachment", "Upload a document", s200="The document was there already."
    ),
)
def upload(request: Request, call: UploadCall) -> Response:
    """Store a document: inside a JSON body, or as the body itself with its own Content-Type.

    A document of type JSON is sent with `?raw=true`. 201 for a new document, 200 for a document already
    stored.
    """
    caller = call.caller("write")
    sent = _read(request, call)
    new = _artifact(sent)
    attachment_id = new.artifact.artifact_id

    def store(scope: Scope) -> tuple[bool, StoredAttachment]:
        added = _store(scope, new, replace(sent.said, artifact_id=attachment_id))
        return added, load_attachments(scope, [attachment_id])[attachment_id]

    added, stored = committed(caller.tenant_id, store)
    answer = _short(stored)
    answer["duplicate"] = not added
    if sent.document.notes:
        answer["notes"] = list(sent.document.notes)
    return _json(answer, status.HTTP_201_CREATED if added else status.HTTP_200_OK)


@router.get(
    "/attachments/{attachment_id}",
    openapi_extra=in_address(
        content={"type": "boolean", "description": "Whether the beginning of its text is shown."}
    ),
    **answers(AttachmentAnswer, "get_attachment", "Get a document"),
)
def show_attachment(
    attachment_id: AttachmentId, request: Request, call: Annotated[Call, Depends(reader(lambda _: 1024))]
) -> Response:
    """Answer with an attachment's facts; with `?content=true`, also with the beginning of its text."""
    caller = call.caller("read")
    with_content = flag(request, "content", allowed=("content",))
    with Scope.read(caller.tenant_id) as scope:
        stored = load_attachments(scope, [attachment_id]).get(attachment_id)
        text = (
            load_slice(scope, attachment_id, start=0, length=MOST_CONTENT_CHARS)
            if stored and with_content
            else None
        )
    if stored is None:
        raise not_found("attachment")
    answer = _long(stored)
    if text is not None:
        more = stored.facts.size_chars > len(text)
        answer |= {"content": text, "truncated": more, "next_from": len(text) if more else None}
    return _json(answer)


def flag(request: Request, name: str, *, allowed: tuple[str, ...]) -> bool:
    """Read a boolean query parameter; an unknown parameter is refused.

    Raises:
        ProblemError: A parameter is unknown, or the value is not a boolean.
    """
    check_parameters(request, allowed)
    value = request.query_params.get(name, "false")
    if value not in {"true", "false"}:
        raise ProblemError("invalid-input", f"{name}: must be true or false", field=name)
    return value == "true"


def check_parameters(request: Request, allowed: tuple[str, ...]) -> None:
    """Refuse unknown query parameters."""
    for name in request.query_params:
        if name not in allowed:
            message = f"{name[:80]}: is not a known parameter; allowed: {', '.join(allowed)}"
            raise ProblemError("invalid-input", message, field=name[:80])


def _read(request: Request, call: Call) -> Upload:
    declared = request.headers.get("content-type", "")
    is_json = declared.partition(";")[0].strip().lower() in (JSON, UNSAID)
    raw = flag(request, "raw", allowed=_PARAMETERS)
    if is_json and not raw and "title" not in request.query_params:
        return _read_envelope(call)
    if not declared:
        raise ProblemError(
            "invalid-input", "media_type: name it in the header Content-Type", field="media_type"
        )
    refuse_unclean_ids(AttachmentUpload, request.query_params)
    given = {name: clean_text(value) for name, value in request.query_params.items() if name != "raw"}
    try:
        said = AttachmentUpload.model_validate(given)
    except ValidationError as error:
        raise validation_error(error) from None
    return Upload(read_document(call.raw, declared), _said(said, declared))


def _read_envelope(call: Call) -> Upload:
    body, cleaned = read_as(AttachmentUpload, call.raw)
    if (body.content is None) == (body.content_base64 is None):
        raise ProblemError(
            "invalid-input",
            "content: send either content or content_base64; a JSON document itself is sent with ?raw=true",
            field="content",
        )
    if body.content is not None:
        media_type = body.media_type or "text/plain"
        document = read_inline(body.content, media_type)
    else:
        data = _decode(body.content_base64 or "")
        media_type = body.media_type or (PDF if data.startswith(b"%PDF-") else "text/plain")
        document = read_document(data, media_type)
    notes = (*((CLEANED,) if cleaned else ()), *document.notes)
    return Upload(replace(document, notes=notes), _said(body, media_type))


def _decode(encoded: str) -> bytes:
    limit = artifact_settings().attachment_max_bytes
    if len(encoded) > limit * 2:
        message = f"content_base64: more than {limit} bytes"
        raise ProblemError("too-large", message, field="content_base64", limit=limit)
    try:
        return base64.b64decode("".join(encoded.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ProblemError("invalid-input", "content_base64: is not base64", field="content_base64") from None


def _said(body: AttachmentUpload, media_type: str) -> NewAttachment:
    for field in ("session_id", "user_id"):
        if value := getattr(body, field):
            check_id(value, field)
    return NewAttachment(
        artifact_id="",
        media_type=read_media_type(media_type).name,
        title=body.title.strip(),
        source=body.source.strip(),
        attachment_type=body.attachment_type,
        session_id=body.session_id,
        user_id=body.user_id,
    )


def _artifact(sent: Upload) -> NewArtifact:
    document, said = sent.document, sent.said
    artifact = document_artifact(
        document.text,
        timestamp=datetime.now(UTC),
        title=said.title or document.title[:MOST_TITLE_CHARS],
        source=said.source,
        kind=document.kind,
    )
    return new_artifact(artifact, media_type=said.media_type)


def _store(scope: Scope, new: NewArtifact, said: NewAttachment) -> bool:
    """Store the document, its upload and the resulting work in a transaction."""
    store_artifacts(scope, [new])
    added = add_attachment(scope, replace(said, title=said.title or new.artifact.title))
    settings = artifact_settings()
    if added and new.artifact.size_chars >= settings.artifact_split_chars:
        enqueue(scope, WorkKind.ARTIFACT, said.artifact_id, delay_s=settings.artifact_debounce_s)
    return added


def _short(stored: StoredAttachment) -> dict[str, Any]:
    facts = stored.facts
    return {
        "attachment_id": facts.artifact_id,
        "artifact_id": facts.artifact_id,
        "title": stored.title,
        "kind": facts.kind.value,
        "media_type": stored.media_type,
        "size_chars": facts.size_chars,
        "tokens": facts.tokens,
    }


def _long(stored: StoredAttachment) -> dict[str, Any]:
    facts = stored.facts
    return {
        **_short(stored),
        "source": stored.source,
        "attachment_type": stored.attachment_type,
        "size_bytes": facts.size_bytes,
        "language": facts.language,
        "preview": facts.preview,
        "indexed": facts.indexed_with is not None,
        "uploaded_at": stored.uploaded_at,
        "last_used_at": facts.last_used_at,
    }


def _json(content: dict[str, Any], code: int = status.HTTP_200_OK) -> Response:
    return Response(orjson.dumps(content), code, media_type=JSON)
