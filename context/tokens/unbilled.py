"""Message fields not billed as text by any provider, each with its reason; all other fields count."""

_JOINS = "an id joins a call to its result, or an item to the provider's store, and is not shown to the model"
_SHAPE = "says what kind of thing it stands in; the wrapping counts for it"
_FILE = "names or holds a file, which is billed by its pixels or its size"

UNBILLED = {
    "id": _JOINS,
    "call_id": _JOINS,
    "tool_call_id": _JOINS,
    "tool_use_id": _JOINS,
    "approval_request_id": _JOINS,
    "role": _SHAPE,
    "type": _SHAPE,
    "status": _SHAPE,
    "object": _SHAPE,
    "index": _SHAPE,
    "is_error": _SHAPE,
    "signature": "thinking is billed by its words, and its signature is free",
    "cache_control": "a mark for the provider's cache; it is taken out of stored messages",
}
"""Unbilled fields of a message, a part, a call or a result of known shape."""

UNBILLED_OF_TEXT = {"citations": "cited words that are sent back are free"}
"""Unbilled fields of a text part, beside its words."""

UNBILLED_OF_MEDIA = dict.fromkeys(
    (
        "audio_url",
        "data",
        "detail",
        "document_url",
        "file_data",
        "file_id",
        "file_url",
        "format",
        "image",
        "image_url",
        "input_audio",
        "media_type",
        "mime_type",
        "url",
        "video",
        "video_url",
    ),
    _FILE,
)
"""Unbilled fields of a file part and of its nested object."""

OPAQUE = frozenset({"encrypted_content", "encrypted_index", "thought_signature", "thought_signatures"})
"""Fields readable by the provider only: billed as the hidden tokens, in any place."""
