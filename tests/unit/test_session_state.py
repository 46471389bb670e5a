"""A session as a value: what it counts of summaries, and how it stands without one."""

from dataclasses import asdict, fields
from typing import Any

from models.conversations.session_state import NOTHING_SUMMARIZED, SessionState

COUNTERS: dict[str, Any] = {each.name: 7 for each in fields(SessionState) if each.default == 0}
COUNTED = SessionState("s", **COUNTERS)


def test_every_counter_of_summaries_is_among_those_that_say_there_is_none() -> None:
    assert set(NOTHING_SUMMARIZED) == {name for name in COUNTERS if name.startswith(("summar", "prepared"))}


def test_a_session_without_its_summaries_shows_all_raw_and_keeps_the_rest() -> None:
    bare = COUNTED.unsummarized
    assert (bare.raw_from, bare.raw_tokens, bare.has_prepared) == (7, 7, False)
    assert asdict(bare) == {**asdict(COUNTED), **NOTHING_SUMMARIZED}
