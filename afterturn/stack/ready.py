"""Whether a process of the stack does its work, asked from outside."""

import http.client
import socket
from datetime import datetime

import psycopg

from afterturn.stack.roles import LOOPBACK

PROBE_TIMEOUT_S = 1.0


def answers_ready(port: int, path: str = "/readyz") -> bool:
    """Whether an HTTP server on loopback answers a path with 200.

    Args:
        port: Where it listens.
        path: What to ask for.
    """
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def listens(port: int) -> bool:
    """Whether anything takes connections on a loopback port."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=PROBE_TIMEOUT_S).close()
    except OSError:
        return False
    return True


def has_beaten(database_url: str, role: str, since: datetime) -> bool:
    """Whether a background role has shown a sign of life.

    Args:
        database_url: Where the signs are kept.
        role: Whose.
        since: Older signs belong to an earlier life.
    """
    try:
        with psycopg.connect(database_url, autocommit=True, connect_timeout=2) as database:
            found = database.execute(
                "select 1 from heartbeat where role = %s and seen_at >= %s limit 1", (role, since)
            )
            return found.fetchone() is not None
    except psycopg.Error:
        return False
