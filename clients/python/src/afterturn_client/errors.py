"""Errors of the client: a class by kind, with the numbers that the service told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class AfterturnError(Exception):
    """Base of all errors of the client."""


class IncompatibleError(AfterturnError):
    """The address answers with a version that this client does not speak, or is no Afterturn API.

    Attributes:
        server: The version of the API; None if the answer names none.
        client: The version that this client speaks.
    """

    def __init__(self, message: str, *, server: str | None, client: str) -> None:
        """Keep both versions."""
        super().__init__(message)
        self.server, self.client = server, client


class UnavailableError(AfterturnError):
    """The service did not serve the call: no answer, an answer too late, or a status of 5xx.

    Attributes:
        reason: The last failure, in a few words.
        attempts: The number of attempts; 0 if the client did not try, because a recent call failed.
        retry_after_s: The wait that the service asked for, in seconds; None without such a wish.
        outcome: "none" if the service said that nothing was changed, else "unknown".
        held: True if others changed the same session for too long, and the service serves other sessions.
    """

    def __init__(
        self,
        reason: str,
        *,
        attempts: int,
        retry_after_s: float | None = None,
        outcome: str = "unknown",
        held: bool = False,
    ) -> None:
        """Keep the last failure."""
        super().__init__(f"the service is not available: {reason} (attempts: {attempts})")
        self.reason, self.attempts = reason, attempts
        self.retry_after_s, self.outcome, self.held = retry_after_s, outcome, held


class RateLimitedError(UnavailableError):
    """The key made too many calls, and the wait does not fit into the time of this call."""


class RefusedError(AfterturnError):
    """The service refused the call; the same call again would be refused again.

    Attributes:
        status: The HTTP status.
        type: The stable slug of the problem.
        detail: The fault, in a sentence.
        field: The path of the field at fault; None without a field.
        numbers: All other members of the problem document.
        request_id: The id of the request in the logs of the service.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: str | None = None) -> None:
        """Read a problem document (RFC 9457)."""
        self.status = status
        self.type = str(problem.get("type", "unknown"))
        self.detail = str(problem.get("detail") or problem.get("title") or f"status {status}")
        self.field: str | None = problem.get("field")
        self.numbers = {key: value for key, value in problem.items() if key not in _STABLE}
        self.request_id = request_id
        super().__init__(f"{self.detail} ({status} {self.type})")

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling, with all numbers."""
        stable = {"type": self.type, "detail": self.detail, "field": self.field}
        return type(self), (self.status, {**self.numbers, **stable}, self.request_id)


_STABLE = ("type", "title", "status", "detail", "field")


class OverBudgetError(RefusedError):
    """The parts that must be sent are larger than the budget, before any history.

    Attributes:
        budget: The most input tokens.
        needed: The tokens of the parts that must be sent.
        over_by: The difference, in tokens.
        parts: Tokens by part, such as `system_prompt`, `tools` and `new_messages`.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: str | None = None) -> None:
        """Read the numbers of the problem."""
        super().__init__(status, problem, request_id)
        self.parts: dict[str, int] = dict(self.numbers.get("parts") or {})
        self.budget = int(self.numbers.get("budget_tokens") or 0)
        self.over_by = int(self.numbers.get("over_by") or 0)
        self.needed = self.budget + self.over_by


class TooLargeError(RefusedError):
    """A body, a message or a list is larger than the service takes.

    Attributes:
        limit: The limit; None if the service names none.
    """

    def __init__(self, status: int, problem: Mapping[str, Any], request_id: str | None = None) -> None:
        """Read the limit."""
        super().__init__(status, problem, request_id)
        self.limit: int | None = self.numbers.get("limit")


class ConflictError(RefusedError):
    """Another state is stored than the call expects."""


class TurnConflictError(ConflictError):
    """The turn's id is stored with another body."""


class NotFoundError(RefusedError):
    """No such object, or an object of another tenant."""


class NotAllowedError(RefusedError):
    """The key is missing, wrong, or has not the scope of the call."""


_BY_TYPE: dict[str, type[RefusedError]] = {
    "context-over-budget": OverBudgetError,
    "catalog-over-budget": OverBudgetError,
    "turn-conflict": TurnConflictError,
}
_BY_STATUS: dict[int, type[RefusedError]] = {
    401: NotAllowedError,
    403: NotAllowedError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
}


def refusal(status: int, problem: Mapping[str, Any], request_id: str | None = None) -> RefusedError:
    """Build the error of a problem document, by its type or else by the status."""
    kind = _BY_TYPE.get(str(problem.get("type"))) or _BY_STATUS.get(status, RefusedError)
    return kind(status, problem, request_id)
