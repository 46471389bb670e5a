"""Bodies made wrong: a field too many or too few, of another type, at its limit, or no JSON at all."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.integration.fuzz.door import encode
from tests.integration.fuzz.texts import NUMBERS, ODD, deep, name, text, value

EXTREMES: tuple[Any, ...] = (
    *NUMBERS,
    *ODD,
    None,
    True,
    "",
    " ",
    [],
    {},
    [[]],
    "x" * 201,
    "x" * 100_001,
    ".",
    "..",
    "a/b",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    "1e5",
    "NaN",
)


def damaged(rng: Random, body: Any) -> bytes:
    """Write a body with one thing wrong in it, or with several."""
    if rng.random() < 0.2:
        return _broken(rng, encode(body))
    copy = json.loads(json.dumps(body))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(rng, copy)
    return encode(copy)


def _change(rng: Random, body: Any) -> None:
    places = list(_places(body))
    if not places:
        return
    holder, key = rng.choice(places)
    drawn = rng.randrange(8)
    if drawn == 0:
        del holder[key]
    elif drawn == 1 and isinstance(holder, dict):
        holder[rng.choice((name(rng), *ODD[:4], str(key).upper()))] = value(rng)
    elif drawn == 2:
        holder[key] = deep(rng)
    elif drawn == 3:
        holder[key] = value(rng)
    elif drawn == 4:
        holder[key] = text(rng)
    elif drawn == 5 and isinstance(holder, list):
        holder.append(json.loads(json.dumps(rng.choice(holder))))
    else:
        holder[key] = rng.choice(EXTREMES)


def _places(body: Any) -> Iterator[tuple[Any, Any]]:
    """Every place where a value stands."""
    pending = [body]
    while pending:
        holder = pending.pop()
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in list(keys):
            yield holder, key
            pending.append(holder[key])


def _broken(rng: Random, raw: bytes) -> bytes:
    at = rng.randint(0, len(raw))
    return rng.choice(
        (
            b"",
            raw[:at],
            raw[:at] + bytes([rng.randrange(256)]) + raw[at:],
            raw[:at] + b"\xff\xfe" + raw[at:],
            b"\xef\xbb\xbf" + raw,
            raw + raw,
            b"[" * 5_000,
            b"[" + raw + b"]",
            b'{"a":1,"a":2}',
            b'{"messages":[{"role":"user","content":1e999}],"turn_id":"t"}',
            b'{"n":' + b"9" * 5_000 + b"}",
            b"null",
            raw.decode().encode("utf-16"),
            raw.replace(b'"', b"'"),
        )
    )
