"""What a planner is shown of a document of the request is read again as it was, without its text."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.artifact_plans.by_rule import ArtifactQuery
from context.artifact_plans.prompt import PREVIEW_CHARS, PlanInput, dump_brought, load_brought, plan_messages
from tests.unit.artifact_plans.artifacts import NOW, document, sized

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=3_000)


@given(content=TEXTS, title=TEXTS.map(lambda text: text[:300]))
def test_it_is_read_again_as_a_planner_saw_it_and_never_with_its_text(content: str, title: str) -> None:
    made = document(content, title)
    stored = json.loads(json.dumps(dump_brought([made])))
    (read,) = load_brought(stored, at=NOW)
    assert read == replace(made, content=None, preview=read.preview)
    assert len(read.preview) <= PREVIEW_CHARS
    asked, again = (plan_messages(PlanInput([one], ArtifactQuery("What?"), 900)) for one in (made, read))
    assert asked == again


def test_what_is_stored_is_not_written_down_again() -> None:
    assert dump_brought([sized("a"), replace(document("text", "b"), content=None)]) == []
