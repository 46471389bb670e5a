"""Bodies made wrong: a field too many or too few, another type, a limit, hardly JSON, or no JSON at all."""

import gzip
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.integration.fuzz.door import encode
from tests.integration.fuzz.texts import NUMBERS, ODD, deep, name, text, value

_HERE = "the only place with these words"

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


TOKENS = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"-0",
    b"01",
    b"0x10",
    b"1.",
    b"9" * 400,
    b"9" * 4_301,
    b"-" + b"9" * 5_000,
    b"1E400000000",
    b"0." + b"1" * 5_000,
    b"[" * 64 + b"]" * 64,
    b"[" * 3_000 + b"]" * 3_000,
    b'{"a":' * 501 + b"1" + b"}" * 501,
    b'{"a":1,"a":2}',
    b'{"a":1,"\\u0061":2}',
    b'{"":1,"\\u0000":2,"\\ufffd":3}',
    b'"\\ud800"',
    b'"\\udfff\\ud800x"',
    b'"\\ud83d\\ude00"',
    b'"\xed\xa0\x80"',
    b'"\xc0\xaf"',
    b'"\xf4\x90\x80\x80"',
    b'"\x00"',
    b'"a\nb"',
    b'"\\x41"',
    b'"\\u12"',
    b"'a'",
    b"undefined",
    b"True",
    b"1,",
    b"1/*no*/",
    b"[1,]",
    b"[" + b"1," * 20_000 + b"1]",
    b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(5_000)) + b"}",
    b'"' + b"\\n" * 60_000 + b'"',
)
"""What may be written for a value: at the edge of JSON, or beyond."""


def damaged(rng: Random, body: Any) -> bytes:
    """Write a body with one thing wrong in it, or with several."""
    drawn = rng.random()
    if drawn < 0.2:
        return broken(rng, encode(body))
    if drawn < 0.45:
        return twisted(rng, body)
    copy = json.loads(json.dumps(body))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(rng, copy)
    return encode(copy)


def twisted(rng: Random, body: Any) -> bytes:
    """Write a body with a value in it that no program should write, or a field that stands twice."""
    copy = json.loads(json.dumps(body))
    places = list(_places(copy))
    if not places:
        return rng.choice(TOKENS)
    holder, key = rng.choice(places)
    was = encode(holder[key])
    holder[key] = _HERE
    raw, here = encode(copy), encode(_HERE)
    if isinstance(holder, dict) and rng.random() < 0.2:
        own = encode(key) + b": "
        return raw.replace(own + here, own + was + b", " + own + rng.choice((was, b"1")))
    return raw.replace(here, rng.choice(TOKENS))


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


def broken(rng: Random, raw: bytes) -> bytes:
    """Write something that is hardly JSON."""
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
            raw.decode(errors="replace").encode("utf-16"),
            raw.replace(b'"', b"'"),
            raw + b"\0",
            b"\n\t " * 9_000 + raw,
            b"[" + b",".join([raw] * 40) + b"]",
            gzip.compress(raw),
            b"turn_id=1&messages=%5B%5D",
            b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--\r\n",
        )
    )
