"""The only way to models: reserve, ask a chain of candidates once each, settle. No open transaction."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from context.errors import AfterturnError
from context.tokens.text import count_text
from llm import litellm_client as door
from llm.call import RawReply, ask, traced
from llm.failures import UNANSWERED, Cause, FailureKind, LlmFailure
from llm.pricing import FREE, Price, billed_usd, cost_usd, count_call, count_denial, find_price, judged_by
from llm.requests import CompletionReply, CompletionRequest, Usage, answer
from llm.settings import EXTRACTIVE, LlmSettings, llm_settings
from models.database import Transaction, database_now, transaction
from models.ledger.by_day import failures_in_a_row
from models.ledger.call import Reservation, Settlement, reserve, settle
from models.ledger.caps import BudgetDeniedError, Caps
from models.ledger.settings import budget_settings
from models.providers.circuit_breaker import (
    BreakerRules,
    ProviderPacedError,
    ProviderParkedError,
    admit,
    note_failure,
    note_success,
    take_turn,
)
from models.scope import Scope

T = TypeVar("T")

_NEXT_MODEL_MAY_HELP = frozenset(
    {FailureKind.RETRY_AFTER, FailureKind.RETRY_BACKOFF, FailureKind.PERMANENT, FailureKind.QUOTA}
)


def first_answer(models: Sequence[str], ask: Callable[[str], T], *, park_s: float) -> T:
    """Call models in order until a model answers.

    Without an answer, the refusal with the shortest wait is raised: work refused by a fallback for key, price
    or format comes again as soon as the first model is available. Work over a cap or beyond the rate limit
    waits, and is not passed on to a fallback.

    Args:
        models: Model names, at least one, the wanted model first.
        ask: Function that calls a model once.
        park_s: Pause of a model to be mended by an operator, in seconds.

    Raises:
        LlmFailure: The failure of the only model, or the failure with the shortest wait.
        ProviderParkedError: The same for a model not available now.
        BudgetDeniedError: The same for a model without room under a cap.
    """
    refusals: list[AfterturnError] = []
    for model in models:
        try:
            return ask(model)
        except (ProviderPacedError, BudgetDeniedError) as not_now:
            if not refusals:
                raise
            refusals.append(not_now)
        except ProviderParkedError as parked:
            refusals.append(parked)
        except LlmFailure as failure:
            if failure.kind not in _NEXT_MODEL_MAY_HELP:
                raise
            refusals.append(failure)
    refusal = min(reversed(refusals), key=lambda one: _wait_s(one, park_s))
    if isinstance(refusal, ProviderParkedError) and refusal.gates:
        refusal.gates = tuple(gate for one in refusals for gate in _gates(one))
    raise refusal


def _gates(refusal: AfterturnError) -> tuple[str, ...]:
    """List the models that may be available before the stated time, with a breaker in the way."""
    if isinstance(refusal, ProviderParkedError):
        return refusal.gates
    if isinstance(refusal, LlmFailure) and refusal.parks and refusal.model is not None:
        return (refusal.model,)
    return ()


def _wait_s(refusal: AfterturnError, park_s: float) -> float:
    """Compute the time until a refusal may be over; infinite for a refused question."""
    if isinstance(refusal, LlmFailure):
        if refusal.parks:
            return park_s
        return (refusal.retry_after_s or 0.0) if refusal.transient else math.inf
    if isinstance(refusal, ProviderParkedError | BudgetDeniedError):
        return refusal.retry_in_s
    return math.inf


log = structlog.get_logger()

OpenTransaction = Callable[[], AbstractContextManager[Transaction]]

_PROBE_GRACE_S = 10


@dataclass(frozen=True)
class _Attempt:
    """A call in the ledger, not settled yet."""

    call_id: UUID
    request: CompletionRequest
    price: Price
    began_at: datetime
    started_s: float

    @property
    def latency_s(self) -> float:
        return time.monotonic() - self.started_s


class Gateway:
    """Calls models on behalf of jobs."""

    def __init__(
        self,
        settings: LlmSettings,
        caps: Caps,
        *,
        open_transaction: OpenTransaction = transaction,
        now: Callable[[Transaction], datetime] = database_now,
    ) -> None:
        """Check that the caps can admit a call at all.

        Raises:
            ValueError: A cap is smaller than the largest call.
        """
        settings.check_caps(caps)
        self._settings = settings
        self._caps = caps
        self._transaction = open_transaction
        self._now = now
        self._rules = BreakerRules(
            failures=settings.llm_breaker_failures,
            open_s=settings.llm_breaker_open_s,
            open_max_s=settings.llm_breaker_open_max_s,
            park_s=settings.llm_park_s,
        )

    def complete(self, request: CompletionRequest) -> CompletionReply:
        """Call the request's model once, and each fallback once if a fallback may help.

        Args:
            request: The question; call with no transaction open.

        Returns:
            An answer with words, not cut off.

        Raises:
            LlmFailure: No usable answer; names the action.
            ProviderParkedError: No model was called: the breaker is open, or the model is at the maximum
                rate; names the end of the wait.
            BudgetDeniedError: A cap has no room for the call; names the end of the wait.
        """
        ends_at_s = time.monotonic() + self._settings.llm_deadline_max_s
        models = [request.model]
        if request.model != EXTRACTIVE:
            models += [name for name in self._settings.llm_fallback_models if name != request.model]
        return first_answer(
            models,
            lambda model: self._complete_once(replace(request, model=model), ends_at_s),
            park_s=self._settings.llm_park_s,
        )

    def _complete_once(self, request: CompletionRequest, ends_at_s: float) -> CompletionReply:
        deadline_s = min(self._deadline_s(request), ends_at_s - time.monotonic())
        if deadline_s <= 0:
            raise LlmFailure(Cause.TIMEOUT, "no time was left for another model")
        return traced(request, lambda: self._asked(request, deadline_s))

    def _deadline_s(self, request: CompletionRequest) -> float:
        """Return the deadline of a call, longer after timeouts in any process: the ledger remembers."""
        with self._transaction() as db:
            timeouts = failures_in_a_row(
                Scope(db, request.tenant_id),
                request.model,
                request.work_id,
                Cause.TIMEOUT,
                passed_over=UNANSWERED,
                now=self._now(db),
            )
        return self._settings.deadline_s(request.input_tokens, request.max_output_tokens, timeouts=timeouts)

    def _asked(self, request: CompletionRequest, deadline_s: float) -> CompletionReply:
        attempt = self._reserve(request, deadline_s)
        raw: RawReply | None = None
        try:
            raw = self._ask(request, deadline_s)
            failure = raw.failure
        except LlmFailure as no_answer:
            failure = no_answer
        except BaseException:
            self._settle(attempt, None, LlmFailure(Cause.INTERRUPTED))
            raise
        price_usd = self._settle(attempt, raw, failure)
        if failure is not None or raw is None:
            failure = failure or LlmFailure(Cause.NO_CONTENT)
            failure.model = request.model
            failure.words = raw.text if raw is not None else ""
            raise failure
        return _reply(attempt, raw, price_usd)

    def _reserve(self, request: CompletionRequest, deadline_s: float) -> _Attempt:
        builtin = request.model == EXTRACTIVE
        if not builtin:
            door.load()  # it takes seconds the first time: no transaction is open yet
            self._wait_in_line(request.model)
        try:
            with self._transaction() as db:
                now = self._now(db)
                price = Price(FREE) if builtin else self._find_price(db, request)
                wanted = self._wanted(request, price)
                call_id = reserve(db, wanted, caps=Caps() if builtin else self._caps, now=now)
                if not builtin:
                    admit(db, request.model, now=now, probe_s=deadline_s + _PROBE_GRACE_S)
        except BudgetDeniedError as denied:
            count_denial(denied.denial)
            raise
        return _Attempt(call_id, request, price, now, time.monotonic())

    def _wanted(self, request: CompletionRequest, price: Price) -> Reservation:
        most = Usage(input_tokens=request.input_tokens, output_tokens=request.max_output_tokens)
        tokens = request.input_tokens + request.max_output_tokens
        return Reservation(
            tenant_id=request.tenant_id,
            purpose=request.purpose,
            model=request.model,
            tokens=0 if request.model == EXTRACTIVE else tokens,
            usd=cost_usd(most, price.rates or self._settings.llm_unknown_rates) or Decimal(0),
            session_id=request.session_id,
            work_id=request.work_id,
            is_guess=price.rates is None,
            judged_by=judged_by(self._settings, request.model, price),
        )

    def _find_price(self, db: Transaction, request: CompletionRequest) -> Price:
        return find_price(Scope(db, request.tenant_id), self._settings, request.model)

    def _wait_in_line(self, model: str) -> None:
        """Take a call from the model's rate limit, or raise with the return time; either way is committed.

        Raises:
            ProviderPacedError: The model is at the maximum rate.
        """
        per_minute = self._settings.llm_calls_per_minute
        if not per_minute:
            return
        with self._transaction() as db:
            now = self._now(db)
            until = take_turn(db, model, per_minute=per_minute, now=now)
        if until is not None:
            why = f"AFTERTURN_LLM_CALLS_PER_MINUTE is {per_minute}"
            raise ProviderPacedError(model, until=until, reason=why, now=now)

    def _ask(self, request: CompletionRequest, deadline_s: float) -> RawReply:
        if request.model == EXTRACTIVE:
            return _ask_builtin(request)
        return ask(request, self._settings, deadline_s=deadline_s)

    def _settle(self, attempt: _Attempt, raw: RawReply | None, failure: LlmFailure | None) -> Decimal | None:
        """Write down the end of a call; returns the price.

        A paid answer is not thrown away when the settling fails: a sweep finds the open row.
        """
        end = self._settlement(attempt, raw, failure)
        request = attempt.request
        try:
            with self._transaction() as db:
                now = self._now(db)
                settle(Scope(db, request.tenant_id), attempt.call_id, end, now=now)
                if request.model != EXTRACTIVE:
                    self._note(db, attempt, failure, now)
        except SQLAlchemyError:
            log.exception("llm_settle_failed", call_id=str(attempt.call_id), model=request.model)
        count_call(request, end)
        log.info(
            "llm_call_settled",
            call_id=str(attempt.call_id),
            tenant_id=str(request.tenant_id),
            purpose=request.purpose,
            model=request.model,
            failure=failure.cause if failure else None,
            latency_ms=round(end.latency_s * 1000),
        )
        return end.price_usd

    def _settlement(self, attempt: _Attempt, raw: RawReply | None, failure: LlmFailure | None) -> Settlement:
        end = Settlement(
            latency_s=attempt.latency_s,
            failure=failure.cause if failure else None,
            detail=failure.detail or None if failure else None,
        )
        if raw is None:
            billed = failure is not None and failure.may_be_billed
            return end if billed else replace(end, charged_tokens=0, charged_usd=Decimal(0))
        usage, price_usd = raw.usage, _cost(attempt, raw)
        tokens = None
        if usage.input_tokens is not None and usage.output_tokens is not None:
            tokens = usage.input_tokens + usage.output_tokens
        guess = cost_usd(usage, self._settings.llm_unknown_rates)
        return replace(
            end,
            answered_by=raw.answered_by,
            input_tokens=usage.input_tokens,
            cached_tokens=usage.cached_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            price_usd=price_usd,
            charged_tokens=0 if attempt.request.model == EXTRACTIVE else tokens,
            charged_usd=guess if price_usd is None else price_usd,
        )

    def _note(self, db: Transaction, attempt: _Attempt, failure: LlmFailure | None, now: datetime) -> None:
        model = attempt.request.model
        if failure is not None and (failure.transient or failure.parks):
            note_failure(
                db,
                model,
                reason=failure.reason,
                now=now,
                rules=self._rules,
                parks=failure.parks,
                retry_after_s=failure.retry_after_s,
            )
        elif failure is None or failure.cause is not Cause.INTERRUPTED:
            note_success(db, model, began_at=attempt.began_at)


def _cost(attempt: _Attempt, raw: RawReply) -> Decimal | None:
    if attempt.price.is_mapped:
        return billed_usd(door.load(), attempt.request.model, raw.usage, raw.response_usage)
    return None if attempt.price.rates is None else cost_usd(raw.usage, attempt.price.rates)


def _ask_builtin(request: CompletionRequest) -> RawReply:
    """Answer with the built-in model: at once, and free."""
    text = answer(request)
    if text is None:
        raise LlmFailure(
            Cause.INVALID_REQUEST, "the built-in model only summarizes; configure a model for the rest"
        )
    return RawReply(
        text=text,
        failure=None if text.strip() else LlmFailure(Cause.NO_CONTENT),
        finish_reason="stop",
        answered_by=EXTRACTIVE,
        usage=Usage(request.input_tokens, 0, count_text(text), 0),
        response_usage=None,
    )


def _reply(attempt: _Attempt, raw: RawReply, price_usd: Decimal | None) -> CompletionReply:
    return CompletionReply(
        call_id=attempt.call_id,
        text=raw.text,
        finish_reason=raw.finish_reason,
        usage=raw.usage,
        model=attempt.request.model,
        answered_by=raw.answered_by,
        price_usd=price_usd,
        latency_s=attempt.latency_s,
    )


@lru_cache
def gateway() -> Gateway:
    """Return the gateway of this process, from the settings."""
    return Gateway(llm_settings(), budget_settings().caps)


def complete(request: CompletionRequest) -> CompletionReply:
    """Call a model through this process' gateway; see `Gateway.complete`."""
    return gateway().complete(request)


def preload() -> None:
    """Import litellm now, in the parent of a prefork pool, so that the children share the memory.

    The import opens no connection and starts no thread, so forking afterwards is safe.
    """
    door.load()
