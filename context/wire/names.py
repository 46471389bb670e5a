"""Names and ids in the letters and the length of a format."""

import hashlib
import re

_FOREIGN_CHARACTER = re.compile(r"[^a-zA-Z0-9_-]")
_DIGEST_LENGTH = 8


def shape_name(name: str, length: int) -> str:
    """Adapt a name or an id: letters, digits, `_` and `-`, limited in length; a valid name stays."""
    clean = _FOREIGN_CHARACTER.sub("_", name)
    if clean == name and 0 < len(name) <= length:
        return name
    # The digest keeps two names apart that differ in the replaced characters only.
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
    return f"{clean[: length - _DIGEST_LENGTH - 1]}_{digest}"
