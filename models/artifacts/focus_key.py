"""Stored keys of focuses and questions: without the tenant's key nobody can test a question against a key."""

from context.focus import GENERAL_KEY
from models.encryption.cipher import TextKey
from models.encryption.keys import TextCipher
from models.encryption.settings import seals

MARK_OF_KEYED = "k"
"""First character of a keyed key; other keys have hex digits only."""


def _says_nothing(key: str) -> bool:
    return key == GENERAL_KEY or key.startswith(MARK_OF_KEYED)


def _keyed(secret: TextKey, key: str) -> str:
    return f"{MARK_OF_KEYED}{secret.hash_name(key)}"


def stored_key(cells: TextCipher, key: str) -> str:
    """Return a key as stored in a new row. An already stored key is returned unchanged."""
    secret = cells.writing_key() if seals() and not _says_nothing(key) else None
    return _keyed(secret, key) if secret else key


def key_forms(cells: TextCipher, key: str) -> tuple[str, ...]:
    """Return every stored form of a key: rows older than the tenant's key hold the plain key.

    Raises:
        TextUnavailableError: The tenant's key is not available.
    """
    secret = None if _says_nothing(key) else cells.naming_key()
    return (key, _keyed(secret, key)) if secret else (key,)
