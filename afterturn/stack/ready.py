"""Readiness of the stack's processes, probed from outside."""

import http.client
import json
import socket
from datetime import datetime

from afterturn.stack.roles import LOOPBACK

PROBE_TIMEOUT_S = 1.0


def answers_ready(port: int) -> bool:
    """Tell whether the API on a loopback port is ready."""
    return _readiness(port) is not None


def has_worked(port: int, role: str, since: datetime) -> bool:
    """Tell from the API whether a background role was active lately.

    Args:
        port: The API's port.
        role: The role of the heartbeat.
        since: Older heartbeats belong to an earlier process.
    """
    readiness = _readiness(port) or b"{}"
    seen = json.loads(readiness).get("last_seen", {}).get(role)
    return seen is not None and datetime.fromisoformat(seen) >= since


def listens(port: int) -> bool:
    """Tell whether a loopback port accepts connections."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def _readiness(port: int) -> bytes | None:
    """Return the body of a 200 from /readyz, or None."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.read() if answer.status == http.client.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
