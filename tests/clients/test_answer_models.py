"""The client's models of answers beside the API's: no member that an answer lacks, and none narrower."""

from collections.abc import Iterator
from typing import Any

import pytest
from afterturn_client import changes, models, priors
from pydantic import BaseModel

from api.app import make_app
from api.http.errors import kinds_of
from tests.described import EXAMPLES, answer_models

READ: dict[str, tuple[type[BaseModel], tuple[str, ...]]] = {
    "Recorded": (models.Recorded, ("record_turn",)),
    "Context": (models.Context, ("build_context", "compress_context")),
    "BatchedContexts": (models.BatchedContexts, ("build_contexts",)),
    "SessionState": (models.SessionState, ("get_session",)),
    "TurnPage": (models.TurnPage, ("read_turns",)),
    "SummaryList": (models.SummaryList, ("list_summaries", "activate_summary")),
    "Attachment": (models.Attachment, ("upload_attachment", "get_attachment")),
    "Catalog": (models.Catalog, ("put_catalog", "get_catalog")),
    "CatalogList": (models.CatalogList, ("list_catalogs",)),
    "Ranking": (models.Ranking, ("rank_tools",)),
    "PriorSets": (priors.PriorSets, ("list_priors", "start_canary")),
    "SetInForce": (priors.SetInForce, ("roll_back_priors", "stop_canary")),
    "CanaryShare": (priors.CanaryShare, ("get_canary_share", "set_canary_share")),
    "Plan": (models.Plan, ("create_plan", "get_plan")),
    "Preflight": (models.Preflight, ("classify_message",)),
    "Usage": (models.Usage, ("get_usage",)),
    "UserRecall": (models.UserRecall, ("get_user_recall", "set_user_recall")),
    "Receipt": (models.Receipt, ("erase_session", "erase_message", "erase_user")),
    "Key": (models.Key, ("revoke_key",)),
    "NewKey": (models.NewKey, ("create_key",)),
    "KeyPage": (models.KeyPage, ("list_keys",)),
    "Synced": (changes.Synced, ("sync_history",)),
    "Changed": (changes.Changed, ("replace_turn", "delete_turn", "truncate_session")),
    "Forked": (changes.Forked, ("fork_session",)),
    "TurnPart": (changes.TurnPart, ("append_messages",)),
    "SessionPage": (changes.SessionPage, ("list_sessions",)),
    "UserPage": (changes.UserPage, ("list_users",)),
}
"""Each model of the client, and the operations whose answers it reads."""

OWN = {"Recorded.queued", "CatalogList.catalogs.catalog"}
"""Members that these answers never have."""

API = answer_models(make_app())


def members(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field for name, field in model.model_fields.items()}


def inner(annotation: Any) -> type[BaseModel] | None:
    found = [kind for kind in kinds_of(annotation) if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return found[0] if len(found) == 1 else None


def faults(client: type[BaseModel], answers: list[type[BaseModel]], path: str) -> Iterator[str]:
    """Name each member of the client's model that some answer does not have, or has more loosely."""
    told = [members(answer) for answer in answers]
    for name, field in members(client).items():
        place, having = f"{path}.{name}", [one[name] for one in told if name in one]
        if place in OWN:
            continue
        if not having:
            yield f"{place}: no answer has it"
            continue
        may_lack = len(having) < len(told) or not all(one.is_required() for one in having)
        if may_lack and field.is_required():
            yield f"{place}: an answer may lack it"
        kinds = kinds_of(field.annotation)
        may_be_null = any(type(None) in kinds_of(one.annotation) for one in having)
        if may_be_null and not kinds & {type(None), Any}:
            yield f"{place}: an answer may say null"
        parts = [part for one in having if (part := inner(one.annotation))]
        own = inner(field.annotation)
        if own and parts:
            yield from faults(own, parts, place)


@pytest.mark.parametrize("name", READ)
def test_the_clients_model_reads_every_answer(name: str) -> None:
    model, operations = READ[name]
    assert list(faults(model, [API[operation] for operation in operations], name)) == []
    for operation in operations:
        model.model_validate(EXAMPLES[operation])


def test_every_model_of_the_client_is_compared() -> None:
    def parts(model: type[BaseModel]) -> set[type[BaseModel]]:
        found = {part for field in model.model_fields.values() if (part := inner(field.annotation))}
        return {model}.union(*map(parts, found))

    compared = set().union(*(parts(model) for model, _ in READ.values()))
    ours = {
        one
        for module in (models, changes)
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, BaseModel)
        and one.__module__.startswith("afterturn_client")
    }
    assert {one.__name__ for one in ours - compared} == {"ApiAnswer"}
