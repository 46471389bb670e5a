"""The words of a request."""

from collections.abc import Mapping
from typing import Any


def prompt_text(request: Mapping[str, Any]) -> str:
    """Join all text of the request's messages, a line for each message or part."""
    texts: list[str] = []
    for message in request.get("messages") or []:
        content = message.get("content") or ""
        parts = [content] if isinstance(content, str) else [part.get("text") or "" for part in content]
        texts.extend(parts)
    return "\n".join(texts)
