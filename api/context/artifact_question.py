"""Inputs of the choice of a request's artifacts: question, models, room, facts about each artifact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from api.catalogs.budgets import profiles
from api.context import artifact_summaries as in_force
from api.context.activation import Arrivals
from api.context.artifact_summaries import Match
from api.context.request import ContextRequest, RequestAttachment
from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.needs_plan import (
    ModelConfig,
    ModelDefaults,
    is_expensive_primary,
    room_for_artifacts,
)
from context.artifact_plans.strategies import Available
from context.artifacts.superseded import Superseded
from context.focus import Focus
from models.artifacts.settings import planning_settings
from models.artifacts.summary_lookup import ANYBODY, Maker, StoredForQuestion
from models.conversations.session_state import SessionState
from models.read_ahead import ReadAhead


@dataclass(frozen=True)
class ModelChoice:
    """The models of a request beside the answering model; empty for the settings' models.

    Attributes:
        planner: Model for planning the use of artifacts.
        summarizer: Model for summarizing artifacts.
        is_expensive_primary: True if the answering model is expensive.
    """

    planner: str = ""
    summarizer: str = ""
    is_expensive_primary: bool = False


def choose_models(tenant_id: UUID, request: ContextRequest) -> ModelChoice:
    """Choose the planner and summarizer models of a request; empty for the defaults.

    Only defaults and models of the allow-list are accepted.

    Raises:
        InvalidInputError: A model is not allowed.
    """
    settings = planning_settings()
    defaults = ModelDefaults(in_force.planner.find() or "", in_force.summarizer.find() or "")
    config = ModelConfig.from_request(
        request.model,
        planner=request.planner_model,
        summarizer=request.summarizer_model,
        defaults=defaults,
        allowed=settings.model_overrides,
    )
    price = profiles.find(tenant_id, request.model).usd_per_input_token
    return ModelChoice(
        "" if config.context_planner == defaults.context_planner else config.context_planner,
        "" if config.summarizer == defaults.summarizer else config.summarizer,
        is_expensive_primary=is_expensive_primary(
            price, settings.expensive_usd_per_token, model=request.model
        ),
    )


@dataclass(frozen=True)
class Room:
    """Room for artifacts, in stored tokens.

    Attributes:
        whole: Room beside the required parts.
        raw: Size of raw history in the room.
        most_share: Highest share of artifacts in the room.
        has_attachments: True if the request brings documents.
    """

    whole: int
    raw: int = 0
    most_share: float = 1.0
    has_attachments: bool = False

    @property
    def for_artifacts(self) -> int:
        """Room left by history, with a least share; unattached artifacts are limited to another share."""
        least = planning_settings().artifact_room_share
        return room_for_artifacts(self.whole, self.raw, share=least, most_share=self.most_share)


@dataclass(frozen=True)
class ArtifactQuestion:
    """Inputs for a request's artifacts.

    Attributes:
        tenant_id: The artifacts' tenant.
        session: The session; None for an unstored session.
        attachments: Documents of the request.
        wanted: The question.
        chosen: Planner and summarizer models, and whether the answering model is expensive.
        room: Room for artifacts.
        wait_ms: Longest wait of the caller for a plan, in milliseconds.
        shown: Artifacts already whole in the window.
        goes_on: True if the request answers calls, so that its turn continues and repeats the question.
        by_rule: True to ignore models' summaries and plans.
        asks_plans: False to request no plan.
        in_force: Maker of exactly matching summaries.
        arrivals: Decision about what arrived within the turn; None to show everything.
        cached_share: Price of a cached token as a share of the input price; 0 without a cache, or for a
            request with a budget of its own.
        least_relevance: Share of the question's words that an artifact must hold to be shown.
        ahead: Rows of the session that were read ahead; None for none.
    """

    tenant_id: UUID
    session: SessionState | None
    attachments: Sequence[RequestAttachment]
    wanted: ArtifactQuery
    chosen: ModelChoice
    room: Room
    wait_ms: int = 0
    shown: frozenset[str] = frozenset()
    goes_on: bool = False
    by_rule: bool = False
    asks_plans: bool = True
    in_force: Maker = ANYBODY
    arrivals: Arrivals | None = None
    cached_share: float = 0.0
    least_relevance: float = 0.0
    ahead: ReadAhead | None = None

    @property
    def budget_tokens(self) -> int:
        """The room for artifacts, in stored tokens."""
        return self.room.for_artifacts


@dataclass(frozen=True)
class FoundArtifacts:
    """Facts about a request's artifacts, read at once.

    Attributes:
        focus: The reader's question.
        old: Artifacts made old by a later call.
        relevance: Share of the question's words in each whole text.
        whole: Artifacts asked for as a whole.
        answered: Artifacts with a summary for the exact question.
        matches: Usable summaries, by artifact.
        available: Forms of each artifact for the window.
        is_anew: True if something that arrived within the turn is shown at once.
        stored: Stored summaries and plans that may serve the question; None where none is followed.
    """

    focus: Focus
    old: Mapping[str, Superseded]
    relevance: Mapping[str, float]
    whole: frozenset[str]
    answered: frozenset[str]
    matches: Mapping[str, Match]
    available: Mapping[str, Available]
    is_anew: bool = False
    stored: StoredForQuestion | None = None

    def answers(self, artifact_id: str, least_relevance: float) -> bool:
        """Tell whether an artifact holds so many of the question's words."""
        return self.relevance.get(artifact_id, 0.0) >= least_relevance
