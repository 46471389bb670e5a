"""Habits, counted anew each night: what artifacts are read for, what categories need, who asks what."""

import json
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from context.preflight.decide import classify
from context.preflight.types import Category
from context.priors.evaluate import factors_from_bytes
from models import database as session
from models.erasure.sessions import erase_session
from models.learning.habits import (
    count_categories,
    count_focuses,
    find_profile,
    forget_profile,
    likely_focuses,
)
from models.learning.prior_set import SetKind, SetPlace, SetState
from models.learning.served_set import load_set
from models.learning.set_listing import list_sets
from models.scope import Scope
from tests.integration.learning import learn_now
from workers.jobs.learn.night import NIGHT

HALF_LIFE = 60.0


def run(statement: str, **values: Any) -> None:
    with session.transaction() as db:
        db.execute(text(statement), values)


@pytest.fixture
def sessions(tenant_id: UUID) -> UUID:
    """Three sessions, each with a turn of a user."""
    for number in (1, 2, 3):
        run(
            "insert into session (tenant_id, session_id, last_turn_index, last_seq) values (:t, :s, 1, 1)",
            t=tenant_id,
            s=f"s{number}",
        )
        run(
            "insert into turn (tenant_id, session_id, turn_index, turn_id, body_sha256, generation,"
            " first_seq, last_seq, tokens, user_id) values (:t, :s, 1, 't', '\\x00', 1, 1, 1, 1, :u)",
            t=tenant_id,
            s=f"s{number}",
            u=f"user{number}",
        )
    return tenant_id


def read_artifact(
    tenant: UUID, session_id: str, focus: str, *, key: str, uses: int, tool: str = "web_search", days: int = 0
) -> None:
    """An artifact of a tool, read so often for a focus of a session."""
    artifact = f"{session_id}-{key}-{tool}"
    run(
        "insert into artifact (tenant_id, artifact_id, content_sha256, artifact_type, kind, title,"
        " media_type, size_chars, size_bytes, tokens, tokens_wide, preview, language, content)"
        " values (:t, :a, sha256(convert_to(:a, 'UTF8')), 'tool_result', 'text', '', 'text/plain',"
        " 1, 1, 1, 1, 'x', 'en', 'x')",
        t=tenant,
        a=artifact,
    )
    run(
        "insert into artifact_use (tenant_id, session_id, seq, place, artifact_id, turn_index, tool, source)"
        " values (:t, :s, (select count(*) from artifact_use), 0, :a, 1, :tool, 'x')",
        t=tenant,
        s=session_id,
        a=artifact,
        tool=tool,
    )
    run(
        "insert into artifact_summary (tenant_id, artifact_id, focus_key, model, prompt_version, size_class,"
        " language, focus, terms, origin, session_id, state, text, tokens, ready_at, used_at, uses,"
        " expires_at) values (:t, :a, :key, 'm', '1', 'short', 'en', :focus, '{}', 'request', :s, 'ready',"
        " 'It says.', 2, now(), now() - make_interval(days => :days), :uses, now() + interval '1 day')",
        t=tenant,
        a=artifact,
        key=key,
        focus=focus,
        s=session_id,
        uses=uses,
        days=days,
    )


def focuses(tenant: UUID, tool: str = "web_search") -> list[tuple[str, float]]:
    with session.transaction() as db:
        scope = Scope(db, tenant)
        count_focuses(scope, half_life_days=HALF_LIFE)
        return likely_focuses(scope, tool)


def test_what_several_sessions_read_a_tools_results_for_is_likely_again(sessions: UUID) -> None:
    for name in ("s1", "s2"):
        read_artifact(sessions, name, "prices of flights", key="k1", uses=3)
        read_artifact(sessions, name, "opening hours", key="k2", uses=1)
    found = focuses(sessions)
    assert [focus for focus, _ in found] == ["prices of flights", "opening hours"]
    assert found[0][1] == pytest.approx(0.75)
    assert focuses(sessions, "mail") == []


def test_what_one_session_alone_asked_for_predicts_nothing(sessions: UUID) -> None:
    read_artifact(sessions, "s1", "my own divorce", key="k1", uses=9)
    assert focuses(sessions) == []


def test_old_uses_count_less(sessions: UUID) -> None:
    for name in ("s1", "s2"):
        read_artifact(sessions, name, "long ago", key="k1", uses=4, days=120)
        read_artifact(sessions, name, "of today", key="k2", uses=4)
    (_, today), (focus, share) = focuses(sessions)
    assert focus == "long ago"
    assert (today, share) == pytest.approx((0.8, 0.2), rel=0.01)


def test_counting_focuses_again_changes_nothing(sessions: UUID) -> None:
    for name in ("s1", "s2"):
        read_artifact(sessions, name, "prices", key="k1", uses=3)
    assert focuses(sessions) == focuses(sessions)


def test_the_words_of_a_focus_go_with_the_sessions_that_said_them(sessions: UUID) -> None:
    for name in ("s1", "s2"):
        read_artifact(sessions, name, "prices", key="k1", uses=3)
    focuses(sessions)
    with session.transaction() as db:
        for name in ("s1", "s2"):
            erase_session(Scope(db, sessions), name)
    with session.transaction() as db:
        assert likely_focuses(Scope(db, sessions), "web_search") == []
        rows = db.execute(text("select f::text from focus_statistic as f")).scalars()
        assert not any("prices" in row for row in rows)
    assert focuses(sessions) == []


def decide(
    tenant: UUID,
    number: int,
    category: str,
    *,
    kept: list[str],
    hidden: list[str],
    used: list[str],
    features: str = "{}",
) -> None:
    """A decision, joined with what its turn called."""
    run(
        "insert into preflight_decision (tenant_id, session_id, turn_index, policy_version, categories,"
        " scores, features, chars, confidence, reasons, kept, hidden, pinned, used, joined_at)"
        " values (:t, :s, 1, 0, array[:c], '{}', cast(:features as jsonb), 5, 1, '{}', :kept,"
        " :hidden, '{}', :used, now())",
        t=tenant,
        s=f"s{number}",
        c=category,
        kept=kept,
        hidden=hidden,
        used=used,
        features=features,
    )


def test_categories_are_counted_by_what_was_kept_hidden_used_and_missed(sessions: UUID) -> None:
    decide(sessions, 1, "crypto", kept=["prices", "news"], hidden=["mail"], used=["prices"])
    decide(sessions, 2, "crypto", kept=["prices"], hidden=["mail"], used=["mail"])
    with session.transaction() as db:
        for _ in range(2):
            count_categories(Scope(db, sessions), half_life_days=HALF_LIFE)
        rows = {
            row.tool: [round(float(one), 3) for one in (row.kept, row.hidden, row.used, row.missed)]
            for row in db.execute(text("select * from category_statistic where category = 'crypto'"))
        }
    assert rows == {"prices": [2, 0, 1, 0], "news": [1, 0, 0, 0], "mail": [0, 2, 0, 1]}


def test_a_profile_says_what_a_user_asks_about_and_can_be_forgotten(sessions: UUID) -> None:
    for _ in range(15):
        decide(sessions, 1, "crypto", kept=[], hidden=[], used=[])
    for _ in range(5):
        decide(sessions, 1, "media", kept=[], hidden=[], used=[])
    decide(sessions, 2, "coding", kept=[], hidden=[], used=[])
    with session.transaction() as db:
        scope = Scope(db, sessions)
        count_categories(scope, half_life_days=HALF_LIFE)
        profile = find_profile(scope, "user1")
        assert profile == {"crypto": pytest.approx(0.75), "media": pytest.approx(0.25)}
        assert find_profile(scope, "user2") == {"coding": pytest.approx(0.1)}
        assert forget_profile(scope, "user1") == 2
        assert find_profile(scope, "user1") == {}


def test_an_erased_session_is_in_no_profile_of_the_next_night(sessions: UUID) -> None:
    decide(sessions, 1, "crypto", kept=[], hidden=[], used=[])
    run("delete from session where session_id = 's1'")
    with session.transaction() as db:
        scope = Scope(db, sessions)
        count_categories(scope, half_life_days=HALF_LIFE)
        assert find_profile(scope, "user1") == {}


def test_a_night_without_decisions_fits_no_factors(sessions: UUID) -> None:
    assert "no new decisions" in learn_now(sessions, key=NIGHT)
    with session.read_transaction() as db:
        assert list_sets(Scope(db, sessions), kind=SetKind.CATEGORIES) == []


def decide_badly(tenant: UUID, times: int = 160) -> None:
    """Joined decisions of which each hid the tool that its turn called."""
    found = classify("bitcoin", tools=["web_search", "oddity"])
    for _ in range(times):
        decide(
            tenant,
            1,
            "crypto",
            kept=["web_search"],
            hidden=["oddity"],
            used=["oddity"],
            features=json.dumps(dict(found.evidence.features)),
        )


def test_factors_that_hide_less_of_what_is_called_take_effect(sessions: UUID) -> None:
    decide_badly(sessions)
    run(
        "update preflight_decision set used = null, joined_at = null, session_id = 's2' where decision_id ="
        " (select min(decision_id::text)::uuid from preflight_decision)"
    )
    assert "factors 1 active: better: harm 0.000 against 1.000" in learn_now(sessions, key=NIGHT)
    with session.read_transaction() as db:
        (one,) = list_sets(Scope(db, sessions), kind=SetKind.CATEGORIES)
        stored = load_set(db, SetPlace(sessions, SetKind.CATEGORIES, ""), state=SetState.ACTIVE)
    assert one.evaluation["factors"]["crypto"] < 1
    assert stored is not None
    assert factors_from_bytes(stored.blob)[Category.CRYPTO] < 1


def test_decisions_that_a_replay_joined_before_the_night_are_fitted_all_the_same(sessions: UUID) -> None:
    decide_badly(sessions)
    assert "factors 1 active" in learn_now(sessions, key=NIGHT)


def test_a_second_night_without_new_decisions_makes_no_second_set(sessions: UUID) -> None:
    decide_badly(sessions)
    learn_now(sessions, key=NIGHT)
    assert "no new decisions" in learn_now(sessions, key=NIGHT)
    with session.read_transaction() as db:
        assert len(list_sets(Scope(db, sessions), kind=SetKind.CATEGORIES)) == 1
