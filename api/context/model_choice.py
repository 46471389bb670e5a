"""Models of a request beside the answering model: planner and summarizer."""

from dataclasses import dataclass
from uuid import UUID

from api.catalogs.budgets import profiles
from api.context import artifact_summaries as in_force
from api.context.request import ContextRequest
from context.artifact_plans.needs_plan import ModelConfig, ModelDefaults, is_expensive_primary
from models.artifacts.settings import planning_settings


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
