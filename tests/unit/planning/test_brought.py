"""What a planner is shown of a document of the request is read again as it was, without its text."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from context.planning.brought import PREVIEW_CHARS, dump_brought, load_brought
from context.planning.deterministic import Wanted
from context.planning.prompt import PlanInput, plan_messages
from tests.unit.planning.artifacts import NOW, document, sized

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=3_000)


@given(content=TEXTS, title=TEXTS.map(lambda text: text[:300]))
def test_it_is_read_again_as_a_planner_saw_it_and_never_with_its_text(content: str, title: str) -> None:
    made = document(content, title)
    stored = json.loads(json.dumps(dump_brought([made])))
    (read,) = load_brought(stored, at=NOW)
    assert read == replace(made, content=None, preview=read.preview)
    assert len(read.preview) <= PREVIEW_CHARS
    asked, again = (plan_messages(PlanInput([one], Wanted("What?"), 900)) for one in (made, read))
    assert asked == again


def test_what_is_stored_is_not_written_down_again() -> None:
    assert dump_brought([sized("a"), replace(document("text", "b"), content=None)]) == []
