"""Messages read again: the ones known before come back where nothing changed, and within a bound."""

import asyncio
import gc
import time
import weakref
from dataclasses import replace
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest

from api.cache import TEXT_UNUSED_S, forgetting_unused
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock of the caches, moved by hand."""
    at = SimpleNamespace(now=1_000.0)
    monkeypatch.setattr(time, "monotonic", lambda: at.now)
    return at


def test_a_message_that_no_read_finds_again_leaves_a_session_that_is_read_on(clock: SimpleNamespace) -> None:
    recent, erased = RecentMessages(), message(1)
    gone = weakref.ref(recent.again((TENANT, "s1"), [erased, message(2)], after_seq=0)[0])
    del erased
    for _ in range(3):
        clock.now += TEXT_UNUSED_S * 0.7
        read(recent, message(2))
    gc.collect()
    assert gone() is None


def test_messages_of_a_session_that_nobody_reads_leave_the_process(clock: SimpleNamespace) -> None:
    async def wait() -> None:
        async with forgetting_unused(every_s=0.0):
            while unread() is not None and clock.now < 10_000:
                clock.now += 1
                read(recent, message(1))
                await asyncio.sleep(0)

    recent = RecentMessages()
    first = read(recent, message(1))
    unread = weakref.ref(recent.again((TENANT, "s2"), [message(1)], after_seq=0)[0])
    asyncio.run(wait())
    assert unread() is None
    assert clock.now <= 1_000 + TEXT_UNUSED_S * 1.1
    assert read(recent, message(1)) == first
