"""What is odd about a request beside its body: headers, coding, how it comes in, that nobody waits."""

import gzip
import zlib
from collections.abc import Mapping
from random import Random

from tests.integration.fuzz import bodies
from tests.integration.fuzz.actor import Actor
from tests.integration.fuzz.door import Request, encode, segment
from tests.integration.fuzz.texts import name, value

Odd = Mapping[str, str | None]

HARMLESS: tuple[Odd, ...] = (
    {"x-request-id": "a" * 64},
    {"x-request-id": "a" * 65},
    {"x-request-id": "\xff\xfe \x7f"},
    {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    {"traceparent": "ff-" + "0" * 32 + "-x"},
    {"tracestate": "a=" + "b" * 9_000, "baggage": "\xe9=,;=="},
    {"accept": None},
    {"accept": "text/html;q=0, */*;q=x"},
    {"accept-encoding": "gzip, br;q=2, \xff"},
    {"accept-language": "\xe9" * 500},
    {"host": ""},
    {"host": "[::1"},
    {"host": "a" * 3_000},
    {"cookie": "a=" + "b" * 20_000},
    {"expect": "100-continue"},
    {"range": "bytes=5-1,-0,x"},
    {"if-match": "*", "if-unmodified-since": "yesterday"},
    {"origin": "null", "access-control-request-method": "BREW"},
    {"x-forwarded-for": "::1, \xff", "forwarded": "for=;;"},
    {"x-http-method-override": "DELETE"},
    {"content-length": None, "transfer-encoding": "chunked"},
    {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-key": "x"},
    {"content-encoding": "identity"},
    {"content-encoding": ""},
    {"user-agent": None},
)
"""Whatever they say, a right body is stored."""

KINDS: tuple[str | None, ...] = (
    None,
    "",
    "application/json; charset=utf-16",
    "application/json; charset=nope",
    "application/json;;;",
    "text/plain",
    "application/xml",
    "application/x-ndjson",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=x",
    "\xff/\x7f",
    "a/" + "b" * 5_000,
)
KEYS = (
    None,
    "",
    "Bearer",
    "Bearer ",
    "Bearer  ",
    "Bearer\tx",
    "bearer x",
    "Basic eDp4",
    "Bearer \xe9\xff",
    "Bearer " + "a" * 20_000,
    "Bearer a b",
    "Digest username=x",
)


def odd_headers(actor: Actor) -> None:
    """A right turn with headers that do not matter, and calls with headers that may."""
    session, rng = actor.session(), actor.rng
    turn_id = f"h-{actor.number()}"
    raw = encode(bodies.turn(rng, actor.scribe(session.wire), turn_id, session.user_id))
    headers = dict(rng.choice(HARMLESS)) | ({"content-type": rng.choice(KINDS)} if rng.random() < 0.4 else {})
    pieces = rng.choice((1, 1, 2, 7, 200))
    turn = Request("odd turn", "POST", f"{session.path}/turns", raw, headers=headers, pieces=pieces)
    (answer,) = actor.door.send_all([turn])
    actor.accept(session, answer, raw)
    if answer.status != 202:
        actor.door.blame(f"a right turn with odd headers was answered {answer.status}", answer)
    for _ in range(rng.randint(1, 4)):
        _odd_call(actor)


def _odd_call(actor: Actor) -> None:
    """A call that changes nothing that was promised, with anything for headers."""
    rng = actor.rng
    session = actor.session()
    context = bodies.context(rng, actor.scribe(), actor.artifacts)
    method, path, body = rng.choice(
        (
            ("POST", f"{session.path}/context", context),
            ("POST", "/v1/preflight", bodies.preflight(rng, actor.names())),
            ("POST", "/v1/attachments", bodies.upload(rng)),
            ("PUT", f"/v1/catalogs/{rng.choice(('main', 'second'))}", bodies.catalog(rng)),
            ("POST", "/v1/catalogs/main/rank", {"intent": "look", "top_n": 3}),
            ("POST", "/v1/plans", bodies.plan(rng, actor.names())),
            ("PATCH", f"{session.path}/messages/0", {"message": {"role": "user", "content": "x"}}),
            ("GET", f"{session.path}/turns", None),
            ("GET", session.path, None),
            ("GET", "/v1/usage", None),
        )
    )
    headers: dict[str, str | None] = {}
    for _ in range(rng.randint(1, 3)):
        headers |= rng.choice(HARMLESS)
    if rng.random() < 0.5:
        headers["content-type"] = rng.choice(KINDS)
    if rng.random() < 0.2:
        headers["authorization"] = rng.choice(KEYS)
    raw = encode(body) if body is not None or rng.random() < 0.1 else b""
    actor.door.send_all([Request("odd call", method, path, raw, headers=headers, pieces=rng.choice((1, 3)))])


def unknown_field(actor: Actor) -> None:
    """A field that nobody knows is refused by its name, and nothing is stored."""
    session, rng = actor.session(), actor.rng
    turn_id = f"k-{actor.number()}"
    turn = bodies.turn(rng, actor.scribe(session.wire), turn_id, session.user_id)
    method, path, body = rng.choice(
        (
            ("POST", f"{session.path}/turns", turn),
            ("POST", f"{session.path}/context", bodies.context(rng, actor.scribe(), [])),
            ("POST", f"{session.path}/compress", bodies.compress(rng, actor.scribe(), [])),
            ("POST", "/v1/attachments", bodies.upload(rng)),
            ("POST", "/v1/plans", bodies.plan(rng, actor.names())),
            ("POST", "/v1/preflight", bodies.preflight(rng, actor.names())),
            ("PUT", "/v1/preflight/config", bodies.policy(rng)),
            ("PUT", "/v1/retention", {"plan_days": 30}),
            ("PUT", "/v1/catalogs/main", bodies.catalog(rng)),
        )
    )
    field = f"zz_{turn_id}"
    answer = actor.door.send("unknown field", method, path, encode({**body, field: value(rng)}))
    if answer.status != 422 or field not in str(answer.body):
        actor.door.blame(f"an unknown field was answered {answer.status}", answer)


def coded(actor: Actor) -> None:
    """A right turn in a coding that is not taken: it is refused, and not stored."""
    session, rng = actor.session(), actor.rng
    raw = encode(bodies.turn(rng, actor.scribe(session.wire), f"z-{actor.number()}", session.user_id))
    coding, sent = rng.choice(
        (
            ("gzip", gzip.compress(raw)),
            ("GZIP", gzip.compress(raw)[:-5]),
            ("x-gzip", raw),
            ("deflate", zlib.compress(raw)),
            ("br", raw),
            ("gzip, gzip", gzip.compress(gzip.compress(raw))),
            ("identity, gzip", gzip.compress(raw)),
            ("\xff", raw),
            ("zstd" * 500, gzip.compress(b"\0" * 3_000_000)),
        )
    )
    headers = {"content-encoding": coding}
    answer = actor.door.send("coded", "POST", f"{session.path}/turns", sent, headers=headers)
    if answer.status < 400:
        actor.door.blame(f"a body in {coding[:20]!r} was answered {answer.status}", answer)
    actor.door.send("coded", "POST", "/v1/attachments", sent, headers=headers)


def hang_up(actor: Actor) -> None:
    """Who leaves in the middle of a body has sent nothing, even where what came in was whole."""
    session, rng = actor.session(), actor.rng
    raw = encode(bodies.turn(rng, actor.scribe(session.wire), f"u-{actor.number()}", session.user_id))
    raw = raw if rng.random() < 0.5 else raw[: rng.randint(0, len(raw))]
    path = rng.choice(
        (f"{session.path}/turns", "/v1/turns", "/v1/attachments", "/mcp", f"/{segment(name(rng))}")
    )
    leaves = Request("hang up", "POST", path, raw, pieces=rng.choice((1, 2, 5)), hangs_up=True)
    (answer,) = actor.door.send_all([leaves])
    if answer.ok:
        actor.door.blame(f"half a body was answered {answer.status}", answer)


def methods(actor: Actor) -> None:
    """Every path with every method."""
    rng: Random = actor.rng
    session = actor.session()
    paths = (
        "/healthz",
        "/readyz",
        "/v1/usage",
        "/v1/catalogs",
        "/v1/catalogs/none",
        "/v1/turns",
        "/v1/shadow",
        "/v1/retention",
        "/v1/my-plans",
        f"{session.path}/turns",
        f"{session.path}/context",
        f"{session.path}/summaries",
        f"{session.path}/messages/0",
        "/mcp",
        "//v1/turns",
        "/v1//turns",
        "/v1/sessions//turns",
        "/v1/sessions/%2F/turns",
        "/v1/sessions/..%2f..%2fhealthz",
        "/v1/sessions/./turns",
        "/%00",
        "/%ff%fe",
        "/" + "a/" * 2_000,
        "*",
        "",
    )
    for method in rng.sample(("GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PUT", "PATCH", "POST", "x"), 3):
        path = rng.choice(paths)
        query = rng.choice(("", "a", "=&=&", "a=%zz", "from=1&from=2", "x=" + "y" * 9_000, "%ff=%00"))
        actor.door.send("method", method, path, rng.choice((b"", b"{}")), query=query)
