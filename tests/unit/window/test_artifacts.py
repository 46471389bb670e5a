"""Artifacts in a window: where they stand, what they may take, what is said of the rest."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.strategies import Available
from context.artifacts.types import ArtifactDecision, ArtifactPlan, ProcessingStrategy
from context.tokens import Count, guarantee
from context.types import Message
from context.window.assemble import build_messages
from context.window.types import ArtifactCandidates, fill_shelf
from tests.unit.histories import number, says
from tests.unit.windows import MODELS, make_artifact, request, shelves

ROLES = ("user", "assistant")
FULL = ProcessingStrategy.INCLUDE_FULL
ROWS = "flight 217 leaves at 06:40 from gate B3\n"


def talk(turns: int) -> list[Message]:
    """Turns of one question and one answer."""
    return number([says(role, f"pallet {n} is in aisle {n}") for n in range(turns) for role in ROLES])


def shelf_of(
    *contents: str, strategy: ProcessingStrategy = ProcessingStrategy.INCLUDE_FULL, **fields: Any
) -> ArtifactCandidates:
    artifacts = [make_artifact(text, f"art_{place:032x}") for place, text in enumerate(contents)]
    plan = ArtifactPlan(
        tuple(ArtifactDecision(one.artifact_id, strategy, place) for place, one in enumerate(artifacts, 1))
    )
    available = {one.artifact_id: Available(one, text) for one, text in zip(artifacts, contents, strict=True)}
    return ArtifactCandidates(plan, available, **fields)


def test_artifacts_stand_between_history_and_the_new_message_in_the_user_role() -> None:
    window = build_messages(request(talk(2), shelf=shelf_of(ROWS)))
    sent = [json.loads(item) for item in window.items]
    assert [body["role"] for body in sent[-3:]] == ["assistant", "user", "user"]
    assert ROWS.strip() in sent[-2]["content"]
    assert sent[-1]["content"] == "And now?"


def test_an_artifact_is_a_block_that_nobody_trusts() -> None:
    window = build_messages(request(talk(2), shelf=shelf_of(ROWS)))
    (block,) = [block for block in window.certificate.blocks if block.source == "artifact"]
    assert (block.trust, block.origin) == ("untrusted", f"art_{0:032x}")


def test_an_artifact_that_does_not_fit_is_named_with_what_it_would_cost() -> None:
    window = build_messages(request(talk(2), shelf=shelf_of(ROWS * 2_000)))
    (left,) = [left for left in window.certificate.excluded if left.what.startswith("artifact")]
    assert left.why == "no-room"
    assert left.tokens is not None
    assert left.tokens > 8_000


def test_an_artifact_that_the_plan_excludes_is_named() -> None:
    shelf = shelf_of(ROWS, strategy=ProcessingStrategy.EXCLUDE)
    window = build_messages(request(talk(2), shelf=shelf))
    assert [left.why for left in window.certificate.excluded] == ["not-relevant"]


def test_artifacts_take_what_history_leaves_and_a_share_at_least() -> None:
    long_history, asked = talk(200), shelf_of(ROWS * 100)
    window = build_messages(request(long_history, window=4_000, output=100, shelf=asked))
    assert [block.source for block in window.certificate.blocks][-2:] == ["artifact", "new"]
    none = build_messages(
        request(long_history, window=4_000, output=100, shelf=shelf_of(ROWS * 100, room_share=0.0))
    )
    assert none.shelved.text == ""
    roomy = build_messages(
        request(talk(2), window=4_000, output=100, shelf=shelf_of(ROWS * 100, room_share=0.0))
    )
    assert roomy.shelved.text


@given(shelves(), st.integers(-5, 9_000), st.sampled_from(MODELS))
def test_a_shelf_never_costs_more_than_its_room_in_any_models_tokens(
    shelf: ArtifactCandidates, room: int, model: str
) -> None:
    filled = fill_shelf(shelf, room, lambda count: guarantee(count, model))
    assert filled.cost <= max(room, 0)
    assert bool(filled.text) == bool(filled.execution.used)
    named = {one.artifact.artifact_id for one in filled.execution.used}
    named |= {left.artifact_id for left in filled.execution.excluded}
    assert set(shelf.available) <= named


def test_the_price_of_a_shelf_is_that_of_its_count() -> None:
    filled = fill_shelf(shelf_of(ROWS), 5_000, lambda count: guarantee(count, "claude-sonnet-4-5"))
    assert isinstance(filled.count, Count)
    assert filled.cost == guarantee(filled.count, "claude-sonnet-4-5")
