"""What the newest window hid stays hidden in the next one."""

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects.postgresql import Range

from api.context.shown_before import ShownBefore
from context.window.assemble import Unread
from models.conversations.session_state import SessionState
from tests.unit.window.test_assemble import talk
from tests.unit.windows import counted


@given(st.integers(1, 12), st.integers(0, 30), st.booleans())
def test_hidden_messages_count_as_unread_and_none_is_lost(
    turns: int, from_seq: int, has_unread: bool
) -> None:
    messages = counted(talk(turns, first_seq=5))
    unread = Unread(1, 4, 40) if has_unread else None
    kept, gone = ShownBefore(from_seq).hide(messages, unread)
    hidden = messages[: len(messages) - len(kept)]
    assert [*hidden, *kept] == messages
    assert all(message.seq >= from_seq for message in kept)
    assert all(message.seq < from_seq for message in hidden)
    if not hidden:
        assert gone == unread
        return
    assert gone == Unread(
        1 if has_unread else 5, hidden[-1].seq, sum(m.tokens for m in hidden) + 40 * has_unread
    )


def test_a_new_summary_shows_all_raw_messages_again() -> None:
    session = SessionState("s", last_seq=40, summarized_seq=10, hidden_seqs=Range(11, 25))
    assert session.shown_from == 25
    assert SessionState("s", last_seq=40, summarized_seq=20, hidden_seqs=Range(11, 25)).shown_from == 0
    assert SessionState("s", last_seq=40, summarized_seq=10, hidden_seqs=Range(empty=True)).shown_from == 0
    assert session.unsummarized.shown_from == 0
