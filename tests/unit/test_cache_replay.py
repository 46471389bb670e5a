"""What waiting for a cold cache saves on a recorded session."""

import pytest

from benchmarks.cache_activation import AWARE, BY_WINDOW, MAX_TOKENS, NOTES_TOKENS, PATTERNS, PRICES, cost
from benchmarks.cache_replay import Policy, Recording, Replay, Tally, read_recording
from context.tokens.budget import Budget
from context.window.activation import IMMEDIATE
from tests.data import session_file

pytestmark = pytest.mark.data
AT_ONCE = Policy("at once", BY_WINDOW, IMMEDIATE)
WAITING = Policy("cache-aware", BY_WINDOW, AWARE)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return read_recording(session_file())


def replay(recording: Recording, policy: Policy, pattern: str, window: int = 200_000) -> Tally:
    budget = Budget(window, MAX_TOKENS)
    return Replay(recording, policy, budget, notes_tokens=NOTES_TOKENS, pattern=PATTERNS[pattern]).run()


def test_the_same_session_is_read_whatever_the_policy(recording: Recording) -> None:
    assert len(recording.asked) == len(replay(recording, AT_ONCE, "as recorded").raw_tokens)
    assert len(recording.asked) == len(replay(recording, WAITING, "as recorded").raw_tokens)


def test_a_session_with_pauses_pays_a_fifth_less(recording: Recording) -> None:
    for prices in PRICES:
        at_once = cost(replay(recording, AT_ONCE, "pauses x 10"), prices)
        assert cost(replay(recording, WAITING, "pauses x 10"), prices) < 0.8 * at_once


def test_a_session_without_pauses_pays_no_more(recording: Recording) -> None:
    at_once, waiting = (replay(recording, policy, "as recorded") for policy in (AT_ONCE, WAITING))
    for prices in PRICES:
        assert cost(waiting, prices) <= 1.01 * cost(at_once, prices)


def test_an_idle_cache_is_never_broken(recording: Recording) -> None:
    tally = replay(recording, WAITING, "an hour before each turn")
    assert tally.breaks == 0
    assert tally.activations.keys() == {"cold cache"}
