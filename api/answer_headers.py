"""Security headers of every answer for browsers."""

import base64
import hashlib
import re
from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGES = frozenset({"/docs", "/redoc", "/docs/oauth2-redirect"})
"""Pages of the framework, with scripts of their own."""

_NOSNIFF = (b"x-content-type-options", b"nosniff")
_POLICY = b"content-security-policy"
_HTML = b"text/html"
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


class GuardAnswers:
    """Stop browsers from guessing content types, framing API pages, or running foreign scripts."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers to an answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        held: list[Message] = []

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message.get("headers", [])}
                if _NOSNIFF[0] not in names:
                    message["headers"] = [*message.get("headers", []), _NOSNIFF]
                if scope["path"] in PAGES and _is_page(message):
                    held.append(message)  # its policy names the scripts of the body
                    return
            if held and message["type"] == "http.response.body":
                start = held.pop()
                start["headers"] = [*start["headers"], (_POLICY, page_policy(message.get("body", b"")))]
                await send(start)
            await send(message)

        await self.app(scope, receive, guarded)


def _is_page(start: Message) -> bool:
    return any(name.lower() == b"content-type" and _HTML in value for name, value in start["headers"])


def page_policy(page: bytes) -> bytes:
    """Write the security policy of a page with inline scripts, allowed by their hashes only.

    Args:
        page: The page's HTML.
    """
    scripts = " ".join(["'self'", *_hashes(_SCRIPT.findall(page))])
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'"
    ).encode()


def _hashes(scripts: Sequence[bytes]) -> list[str]:
    return [f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'" for script in scripts]
