"""Documents of a request: by id, or as text in the request itself."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator

from api.artifacts.documents.read import read_inline
from api.http.call import Body
from api.http.errors import ProblemError
from context.artifacts.content import document_artifact, is_artifact_id
from context.artifacts.types import Artifact, ContentKind
from models.artifacts.attachment import load_attachments
from models.database import Transaction

MOST_ATTACHMENTS = 50


class AttachmentType(StrEnum):
    """Form of an attachment; `document` is detected from the text."""

    DOCUMENT = "document"
    DATA = "data"
    TABLE = "table"
    LOG = "log"
    CODE = "code"


_PROSE = {ContentKind.TEXT, ContentKind.MARKDOWN, ContentKind.HTML}
_KINDS: dict[str, ContentKind] = {
    AttachmentType.DATA: ContentKind.LOG,
    AttachmentType.TABLE: ContentKind.TABLE,
    AttachmentType.LOG: ContentKind.LOG,
    AttachmentType.CODE: ContentKind.CODE,
}
"""Kinds of prose for each declared form; structured text keeps its own kind."""


class RequestAttachment(Body):
    """A document for the request."""

    attachment_id: str | None = Field(None, max_length=200, description="One that was uploaded before.")
    content: str | None = Field(None, description="Its text, where it was not.")
    title: str = Field("", max_length=300, description="What people call it.")
    source: str = Field("", max_length=2_000, description="Where it comes from, as a URL or path.")
    media_type: str = Field("text/plain", max_length=200, description="What `content` is.")
    attachment_type: AttachmentType = Field(
        AttachmentType.DOCUMENT, description="How it is read: as a document, or line by line as data."
    )

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if (self.attachment_id is None) == (self.content is None):
            raise ValueError("send attachment_id or content, and not both")
        return self


def read_attachments(wanted: Sequence[RequestAttachment]) -> list[Artifact]:
    """Make artifacts of the request's inline documents; documents named by id come later.

    Raises:
        ProblemError: A document is not of its declared type, or too large.
    """
    return [_inline(place, each) for place, each in enumerate(wanted) if each.content is not None]


def _inline(place: int, wanted: RequestAttachment) -> Artifact:
    try:
        document = read_inline(wanted.content or "", wanted.media_type)
    except ProblemError as error:
        if "field" not in error.numbers:
            raise
        field = f"attachments[{place}].{error.numbers['field']}"
        message = f"attachments[{place}].{error.message}"
        raise ProblemError(error.code, message, **{**error.numbers, "field": field}) from None
    title = wanted.title or document.title
    artifact = document_artifact(document.text, title=title, timestamp=datetime.now(UTC))
    return _attached(replace(artifact, kind=document.kind), wanted)


def find_attachments(db: Transaction, tenant_id: UUID, wanted: Sequence[RequestAttachment]) -> list[Artifact]:
    """Find the documents named by id in the request, in order.

    Raises:
        ProblemError: The tenant has no such attachment; the error names the field.
    """
    named = [(place, each) for place, each in enumerate(wanted) if each.attachment_id is not None]
    ids = [each.attachment_id or "" for _, each in named if is_artifact_id(each.attachment_id or "")]
    stored = load_attachments(db, tenant_id, ids)
    found = []
    for place, each in named:
        attachment = stored.get(each.attachment_id or "")
        if attachment is None:
            raise ProblemError(
                "invalid-input",
                f"attachments[{place}].attachment_id: there is no such attachment; upload it first",
                field=f"attachments[{place}].attachment_id",
            )
        value = replace(attachment.value, title=each.title or attachment.value.title)
        found.append(_attached(value, each, stored_as=attachment.attachment_type))
    return found


def _attached(artifact: Artifact, wanted: RequestAttachment, *, stored_as: str = "") -> Artifact:
    """Set an artifact's source and form from the request."""
    name = wanted.source or wanted.title
    is_said = wanted.attachment_type is not AttachmentType.DOCUMENT
    read_as = wanted.attachment_type.value if is_said else stored_as
    kind = _KINDS.get(read_as) if artifact.kind in _PROSE else None
    facts = {"attached": True, "attachment_type": read_as or AttachmentType.DOCUMENT.value}
    return replace(
        artifact,
        source=f"attachment:{name}" if name else artifact.source,
        kind=kind or artifact.kind,
        metadata={**artifact.metadata, **facts},
    )
