"""Keys of foci and questions as they are stored: who lacks the tenant's key cannot try a question on them."""

from context.focus import GENERAL_KEY
from models.cipher import TextKey
from models.text_keys import Cells
from models.text_settings import seals

MARK_OF_KEYED = "k"
"""What a keyed one begins with; others are of hex digits."""


def _says_nothing(key: str) -> bool:
    return key == GENERAL_KEY or key.startswith(MARK_OF_KEYED)


def _keyed(secret: TextKey, key: str) -> str:
    return f"{MARK_OF_KEYED}{secret.hash_name(key)}"


def stored_key(cells: Cells, key: str) -> str:
    """A key as a new row has it. One that is stored already stays as it is."""
    secret = cells.writing_key() if seals() and not _says_nothing(key) else None
    return _keyed(secret, key) if secret else key


def key_forms(cells: Cells, key: str) -> tuple[str, ...]:
    """Every way in which a key may be stored: rows from before there was a tenant's key have it as it is.

    Raises:
        TextUnavailableError: The tenant's key is not at hand.
    """
    secret = None if _says_nothing(key) else cells.naming_key()
    return (key, _keyed(secret, key)) if secret else (key,)
