"""Messages read again: the ones known before come back where nothing changed, and within a bound."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from api.context.tail import RecentMessages
from api.settings import api_settings
from context.types import MOST_FOUND, Message, Role, once_a_message

TENANT = uuid4()


def message(seq: int, words: str = "Where is the crane?") -> Message:
    return Message(seq, Role.USER, 9, f'{{"role":"user","content":"{words}"}}')


def read(recent: RecentMessages, *messages: Message, tenant_id: UUID = TENANT, after: int = 0) -> list[int]:
    """Read copies of messages, as from the database; identities of those that come back."""
    return list(map(id, recent.again((tenant_id, "s1"), list(map(replace, messages)), after_seq=after)))


def test_unchanged_messages_come_back_as_they_were_known() -> None:
    recent = RecentMessages()
    first = read(recent, message(1), message(2))
    assert read(recent, message(1), message(2), message(3))[:2] == first
    assert read(recent, message(2)) == first[1:]
    assert read(recent, message(1), message(2)) == first


@pytest.mark.parametrize(
    "changed",
    [message(1, "Stop."), replace(message(1), tokens=8), replace(message(1), model="gpt-4o")],
    ids=["words", "count", "model"],
)
def test_a_message_that_changed_in_any_part_is_another(changed: Message) -> None:
    recent = RecentMessages()
    one, two = recent.again((TENANT, "s1"), [message(1), message(2)], after_seq=0)
    again = recent.again((TENANT, "s1"), [changed, message(2)], after_seq=0)
    assert again[0] is changed
    assert again[0] is not one
    assert again[1] is two


def test_sessions_and_tenants_have_messages_of_their_own() -> None:
    recent = RecentMessages()
    [own] = recent.again((TENANT, "s1"), [message(1)], after_seq=0)
    for session in ((TENANT, "s2"), (uuid4(), "s1")):
        assert recent.again(session, [message(1)], after_seq=0)[0] is not own


def test_earlier_messages_are_forgotten_with_their_turns() -> None:
    recent = RecentMessages()
    first = read(recent, message(1), message(2))
    assert read(recent, message(2), message(3), after=1)[0] == first[1]
    assert read(recent, message(1))[0] not in first


def test_the_cache_keeps_no_more_than_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_MESSAGE_CACHE_BYTES", "20000")
    api_settings.cache_clear()
    try:
        recent = RecentMessages()
        names = [f"s{number}" for number in range(20)]
        known = [recent.again((TENANT, name), [message(1)], after_seq=0)[0] for name in names]
        again = [recent.again((TENANT, name), [message(1)], after_seq=0)[0] for name in names[::-1]]
        assert 0 < sum(a is b for a, b in zip(known, again[::-1], strict=True)) < 10
        large = message(1, "x" * 10_000)
        recent.again((TENANT, "large"), [large], after_seq=0)
        assert recent.again((TENANT, "large"), [replace(large)], after_seq=0)[0] is not large
    finally:
        api_settings.cache_clear()


def test_a_result_is_kept_with_its_message_and_its_facts() -> None:
    asked: list[tuple[int, str]] = []

    @once_a_message
    def find(one: Message, word: str) -> bool:
        asked.append((one.seq, word))
        return word in one.raw

    one, two = message(1), message(2)
    assert [find(one, "crane"), find(one, "crane"), find(one, "truck"), find(two, "crane")] == [
        True,
        True,
        False,
        True,
    ]
    assert asked == [(1, "crane"), (1, "truck"), (2, "crane")]
    assert find(one.with_counts(3, 3), "crane")
    assert len(asked) == 4
    for number in range(1_000):
        find(one, str(number))
    assert len(one.found) <= MOST_FOUND
