"""Prepared summaries at a context read: put in force at a good moment, and what the prompt cache gives."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.exc import SQLAlchemyError

from context.activation import Activation, Moment, calls_for_work, choose_activation, is_cold
from context.budget import Budget
from context.cache_rules import cache_rule
from context.certificate import Certificate
from context.prompt_cache import cache_ttl_s, estimate_cache, is_other_model, split_request
from context.tokens import guarantee
from models.freshness import Standing, find_standing
from models.recall import is_indexed
from models.session import hinting, reading
from models.session_state import SessionState
from models.settings import compression_settings
from models.speculation import PREPARED, note_used
from models.summary import activate_prepared

log = structlog.get_logger()

FULL = 0.95
"""A window fuller than this has no room left that could be counted on."""


@dataclass(frozen=True)
class Asked:
    """What a request spends beside history, in stored tokens.

    Attributes:
        model: Who is asked.
        budget: The window.
        lasting: The window that the session's requests usually have, this one included.
        system_tokens: The system prompt.
        tools_tokens: The tool definitions.
        new_tokens: The new messages.
        goes_on: Whether the request answers calls: what its turn sent just now is in the provider's cache.
        fresh_tokens: Of the new messages, those since the turn's request before this one; all where it began.
    """

    model: str
    budget: Budget
    lasting: Budget
    system_tokens: int
    tools_tokens: int
    new_tokens: int
    goes_on: bool = False
    fresh_tokens: int = 0

    def starts_otherwise(self, session: SessionState) -> bool:
        """Whether the provider's cached prefix of the last request is of no use to this one."""
        seen = (session.system_tokens, session.tools_tokens)
        changed = session.max_tokens is not None and seen != (self.system_tokens, self.tools_tokens)
        return changed or is_other_model(self.model, session.model)

    def overflows(self, session: SessionState) -> bool:
        """Whether the usual window does not hold all history, or only just: it is counted more exactly."""
        history = session.raw_tokens + session.summary_tokens
        total = history + self.system_tokens + self.tools_tokens + self.new_tokens
        too_long = guarantee(history, self.model) > self.lasting.history_window * FULL
        return too_long or guarantee(total, self.model) > self.lasting.input_tokens * FULL

    def moment(self, standing: Standing) -> Moment:
        """What is known when it comes."""
        session = standing.session
        return Moment(
            self.model,
            0.0 if self.goes_on else standing.idle_s,
            pressed=self.overflows(session),
            prefix_changes=not self.goes_on and self.starts_otherwise(session),
        )


def settle(
    tenant_id: UUID, standing: Standing, asked: Asked, *, keep: bool = True
) -> tuple[Standing, Activation | None]:
    """Put the prepared summary in force where this request is a good moment for it; no model is called.

    The request after this one then starts alike, so the choice is stored. Two reads at once store it once.
    Where a write holds the session, the next read does it: none waits for that.

    Args:
        tenant_id: Whose session.
        standing: How it stands.
        asked: What the request spends.
        keep: Whether the choice is stored; else it is taken back once it is known how things would stand.

    Returns:
        How the session stands now, and why the summary took effect; None where none did.
    """
    session = standing.session
    if not session.has_prepared:
        return standing, None
    why = choose_activation(asked.moment(standing), compression_settings().activation_settings)
    if why is None:
        return standing, None
    try:
        with hinting() as db:
            if not is_indexed(db, tenant_id, session, through_seq=session.prepared_seq):
                return standing, None
            version = activate_prepared(db, tenant_id, session.session_id, generation=session.generation)
            if version is not None and keep:
                saved = session.load.input_tokens - session.prepared_load.input_tokens
                note_used(db, tenant_id, PREPARED, saved_tokens=saved)
            if not keep:
                would = find_standing(db, tenant_id, session.session_id, asked.model)
                db.rollback()
                return would or standing, why if version is not None else None
    except SQLAlchemyError as error:
        log.warning("activation_put_off", session_id=session.session_id, error=type(error).__name__)
        return standing, None
    with reading() as db:
        settled = find_standing(db, tenant_id, session.session_id, asked.model)
    return settled or standing, why if version is not None else None


def wants_work(standing: Standing, asked: Asked) -> bool:
    """Whether a worker should look at the session: once per turn, and not while it is due already.

    The usual window decides, and no budget or window of one request: others of the session are larger.
    """
    if standing.due_at is not None or (standing.is_tried and not asked.starts_otherwise(standing.session)):
        return False
    session, settings = standing.session, compression_settings()
    return calls_for_work(
        session.load,
        session.prepared_load,
        asked.lasting,
        settings.thresholds,
        settings.activation_settings,
    )


def cache_report(
    standing: Standing | None, asked: Asked, certificate: Certificate, activation: Activation | None
) -> dict[str, Any]:
    """How much of the window the provider has probably cached; an estimate from what stayed the same."""
    settings = compression_settings().activation_settings
    session = standing.session if standing else SessionState("")
    idle_s = standing.idle_s if standing else None
    is_warm = asked.goes_on or not (
        is_cold(Moment(asked.model, idle_s), settings) or asked.starts_otherwise(session)
    )
    use = estimate_cache(
        split_request(certificate.blocks),
        warm=is_warm,
        notes_changed=standing is not None and _is_new(standing),
        start_moved=certificate.tail is not None and certificate.tail[0] > session.tail_from + 1,
    )
    whole = certificate.input_tokens
    found = max(whole - guarantee(asked.fresh_tokens, asked.model), 0) if asked.goes_on else 0
    return {
        "expected_tokens": cache_rule(asked.model).found(
            max(found if is_warm else 0, use.stable_prefix_tokens)
        ),
        "stable_prefix_tokens": use.stable_prefix_tokens,
        "changed_tokens": use.changed_tokens,
        "idle_s": idle_s,
        "ttl_s": cache_ttl_s(asked.model, settings.cache_ttl_s),
        "activation": activation,
        "prepared_through": session.prepared_seq if session.has_prepared else None,
    }


def _is_new(standing: Standing) -> bool:
    """Whether the summary took effect after the last turn: no request of that turn started with it."""
    since = standing.summary.activated_at if standing.summary else None
    last = standing.session.last_turn_at
    return since is not None and last is not None and since > last
