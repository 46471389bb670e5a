"""Whether a process of the stack does its work, asked from outside."""

import http.client
import json
import socket
from datetime import datetime

from afterturn.stack.roles import LOOPBACK

PROBE_TIMEOUT_S = 1.0


def answers_ready(port: int) -> bool:
    """Whether the API on a loopback port says that it is ready."""
    return _readiness(port) is not None


def has_worked(port: int, role: str, since: datetime) -> bool:
    """Whether a background role was at work lately, as the API knows it.

    Args:
        port: The API's.
        role: Whose sign of life to look for.
        since: Older signs belong to an earlier life.
    """
    readiness = _readiness(port) or b"{}"
    seen = json.loads(readiness).get("last_seen", {}).get(role)
    return seen is not None and datetime.fromisoformat(seen) >= since


def listens(port: int) -> bool:
    """Whether anything takes connections on a loopback port."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _readiness(port: int) -> bytes | None:
    """The body of a 200 from /readyz, or None."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.read() if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
