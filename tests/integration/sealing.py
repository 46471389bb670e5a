"""Helpers for tests of sealed text: keys that come and go, and a look for words in every form."""

import base64
import hashlib

import pytest
from sqlalchemy import text

from models import database as session
from models.encryption.keys import forget_keys

FIRST = f"first:{base64.b64encode(b'1' * 32).decode()}"
SECOND = f"second:{base64.b64encode(b'2' * 32).decode()}"
WRONG = f"first:{base64.b64encode(b'3' * 32).decode()}"


class Environment:
    """Which keys this process has."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch

    def use(self, *keys: str, sealing: bool = True) -> None:
        self._patch.setenv("AFTERTURN_TEXT_KEYS", ",".join(keys))
        self._patch.setenv("AFTERTURN_TEXT_SEALING", str(sealing).lower())
        forget_keys()


def tables_with_traces(word: str) -> set[str]:
    """The tables that hold a word in any form that somebody could look for."""
    forms = [
        word,
        word.encode().hex(),
        word.encode("utf-16-le").hex(),
        hashlib.sha256(word.encode()).hexdigest(),
        *(base64.b64encode(b"x" * shift + word.encode()).decode()[4:-4] for shift in range(3)),
    ]
    with session.read_transaction() as db:
        names = db.execute(text("select tablename from pg_tables where schemaname = 'public'")).scalars()
        return {
            name
            for name in names
            if db.execute(
                text(f"select exists (select from {name} t where t::text ilike any(:forms))"),  # noqa: S608
                {"forms": [f"%{form}%" for form in forms]},
            ).scalar()
        }
