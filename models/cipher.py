"""Sealing a text with a key and the place where it is stored, and opening it there again."""

import base64
import hashlib
import hmac
import os
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MARK = "\x02"
"""What a stored text begins with that is not as it was written: no text of people begins so."""

KEY_BYTES = 32
NONCE_BYTES = 12
_KEPT_AS_IT_IS = MARK + "="
_COMPRESSED_FROM = 256
_PLAIN, _COMPRESSED = b"\0", b"\1"
_SEALED = re.compile(MARK + r"([0-9]{1,10})\.([A-Za-z0-9+/]+={0,2})")


class SealBrokenError(ValueError):
    """A sealed text does not open: it is of another key or of another place, or was changed."""


def is_sealed(stored: str) -> bool:
    """Whether a stored text is sealed; all others are read as they are."""
    return stored.startswith(MARK) and _SEALED.fullmatch(stored) is not None


def keep_plain(text: str) -> str:
    """A text as it is stored without a key: only one that begins with the mark gets another before it."""
    return _KEPT_AS_IT_IS + text if text.startswith(MARK) else text


def read_plain(stored: str) -> str:
    """The text of what is stored without a key."""
    return stored.removeprefix(_KEPT_AS_IT_IS)


@dataclass(frozen=True, repr=False)
class TextKey:
    """The key of one tenant: it seals texts and gives terms keys that nobody else can compute.

    Attributes:
        secret: 32 random bytes.
    """

    secret: bytes

    @classmethod
    def new(cls) -> "TextKey":
        """Draw a key that nobody had before."""
        return cls(os.urandom(KEY_BYTES))

    def seal(self, text: str, place: Iterable[object]) -> str:
        """Seal a text for one place.

        Args:
            text: Any text.
            place: What names the cell: its column, its tenant and the key of its row.

        Returns:
            The mark, the size of the text in bytes, and its cipher text in base64: never twice the same.
        """
        data = text.encode()
        return f"{MARK}{len(data)}.{base64.b64encode(self.seal_bytes(data, place)).decode()}"

    def seal_bytes(self, data: bytes, place: Iterable[object]) -> bytes:
        """Seal bytes: a nonce, and what they are, compressed where that is smaller."""
        body = _PLAIN + data
        if len(data) >= _COMPRESSED_FROM:
            body = min(body, _COMPRESSED + zlib.compress(data, 1), key=len)
        nonce = os.urandom(NONCE_BYTES)
        return nonce + _gcm(self.secret).encrypt(nonce, body, _bound(place))

    def open(self, stored: str, place: Iterable[object]) -> str:
        """Open what `seal` made for the same place.

        Raises:
            SealBrokenError: It is of another key or place, or was changed.
        """
        found = _SEALED.fullmatch(stored)
        if found is None:
            raise SealBrokenError("this is not a sealed text")
        return self.open_bytes(base64.b64decode(found[2]), place).decode()

    def open_bytes(self, sealed: bytes, place: Iterable[object]) -> bytes:
        """Open what `seal_bytes` made for the same place.

        Raises:
            SealBrokenError: It is of another key or place, or was changed.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 (as below)

        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            body = _gcm(self.secret).decrypt(nonce, rest, _bound(place))
        except (InvalidTag, ValueError) as error:
            raise SealBrokenError("a sealed text does not open here") from error
        return zlib.decompress(body[1:]) if body[:1] == _COMPRESSED else body[1:]

    def hash_term(self, term: str, *, size: int) -> bytes:
        """A term's hash, which tells nothing to whoever has no key."""
        return blake2b(term.encode(), digest_size=size, key=self._for("terms")).digest()

    def hash_bytes(self, data: bytes) -> bytes:
        """The 32 bytes by which a content is known again: whoever has it cannot test whether it is stored."""
        return hmac.digest(self._for("contents"), data, hashlib.sha256)

    def hash_name(self, name: str) -> str:
        """32 hex digits in place of a hash of words: nobody without the key finds the words."""
        return hmac.digest(self._for("names"), name.encode(), hashlib.sha256).hex()[:32]

    def _for(self, use: str) -> bytes:
        """One key for one use: that of the seal serves nothing else."""
        return hmac.digest(self.secret, use.encode(), hashlib.sha256)


@lru_cache(maxsize=1024)
def _gcm(secret: bytes) -> "AESGCM":
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 (only who has keys pays)

    return AESGCM(secret)


def _bound(place: Iterable[object]) -> bytes:
    """The names of a cell, each with its length, so that no two cells are written alike."""
    names = (str(part) for part in place)
    return "".join(f"{len(name)}:{name}" for name in names).encode()
