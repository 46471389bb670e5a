"""Settings of the sealing of text: master keys, and the time that a process keeps a key of a tenant."""

import base64
import binascii
from collections.abc import Mapping
from functools import lru_cache

from pydantic import Field, SecretStr, model_validator

from models.base_settings import Settings

KEY_BYTES = 32
"""Length of a master key, and of a tenant's text key."""


class TextSettings(Settings):
    """Available master keys, and the sealing of new text."""

    text_keys: SecretStr = Field(
        SecretStr(""),
        description="Master keys for stored text, as `id:base64` of 32 bytes, separated by commas; the "
        "first key writes, all keys read. Empty stores plain text.",
    )
    text_sealing: bool = Field(
        default=True, description="Seal new text if master keys are set; false only reads sealed text."
    )
    text_key_cache_s: float = Field(30.0, ge=0, description="Seconds a process caches a tenant's text key.")

    @model_validator(mode="after")
    def _keys_are_keys(self) -> "TextSettings":
        _ = self.masters
        return self

    @property
    def masters(self) -> Mapping[str, bytes]:
        """Master keys by id, the writing key first.

        Raises:
            ValueError: A key is malformed; the message names the id and does not show the key.
        """
        listed = [entry.strip() for entry in self.text_keys.get_secret_value().split(",") if entry.strip()]
        named = [_read(entry) for entry in listed]
        masters = dict(named)
        if len(masters) < len(named):
            raise ValueError("AFTERTURN_TEXT_KEYS names an id twice")
        return masters


def _read(entry: str) -> tuple[str, bytes]:
    name, _, written = entry.partition(":")
    if not (name.isascii() and name.isalnum()) or not written:
        raise ValueError("AFTERTURN_TEXT_KEYS is id:key,id:key; an id is of letters and digits")
    try:
        secret = base64.b64decode(written, validate=True)
    except binascii.Error:
        secret = b""
    if len(secret) != KEY_BYTES:
        raise ValueError(f"AFTERTURN_TEXT_KEYS: the key {name} is not the base64 of {KEY_BYTES} bytes")
    return name, secret


text_settings = lru_cache(TextSettings)
"""Read the settings once; later changes have no effect."""
