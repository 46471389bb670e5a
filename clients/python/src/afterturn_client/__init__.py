"""Client of Afterturn: contexts that fit, turns that are not lost, chats that outlast an outage."""

from afterturn_client import _version
from afterturn_client.client import Afterturn, AsyncAfterturn, AsyncChat, Chat
from afterturn_client.errors import (
    AfterturnError,
    ConflictError,
    IncompatibleError,
    NotAllowedError,
    NotFoundError,
    OverBudgetError,
    RateLimitedError,
    RefusedError,
    TooLargeError,
    TurnConflictError,
    UnavailableError,
)
from afterturn_client.models import Context, Recorded
from afterturn_client.options import Options
from afterturn_client.request import Request
from afterturn_client.streams.answer import Answer, ToolCall
from afterturn_client.turn import AsyncTurn, Turn

__version__ = _version.VERSION

__all__ = [
    "Afterturn",
    "AfterturnError",
    "Answer",
    "AsyncAfterturn",
    "AsyncChat",
    "AsyncTurn",
    "Chat",
    "ConflictError",
    "Context",
    "IncompatibleError",
    "NotAllowedError",
    "NotFoundError",
    "Options",
    "OverBudgetError",
    "RateLimitedError",
    "Recorded",
    "RefusedError",
    "Request",
    "TooLargeError",
    "ToolCall",
    "Turn",
    "TurnConflictError",
    "UnavailableError",
    "__version__",
]
