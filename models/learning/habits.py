"""Habits: reading focuses by tool, needed tools by category, and categories by user.

Everything is counted again each night from the existing rows: erased data is gone with the next night, and no
words of anybody are kept, only keys and numbers.
"""

from collections.abc import Mapping

from sqlalchemy import CheckConstraint, Double, Text, bindparam, delete, select, text
from sqlalchemy.orm import Mapped, mapped_column

from models.artifacts.summary import SummaryKey, open_focus
from models.base import Base, TenantKey, Timestamp
from models.scope import Scope

MOST_FOCUSES_A_TOOL = 50
SHARED_SESSIONS = 2
"""Minimum number of sessions: a focus of a single session predicts nothing for others."""


class FocusStatistic(Base):
    """Number of readings of a tool's artifacts for a focus; the words stay with the requests."""

    __tablename__ = "focus_statistic"
    __table_args__ = (CheckConstraint("uses > 0 and sessions >= 1", name="what_is_kept_was_used"),)

    tenant_id: Mapped[TenantKey]
    tool: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    focus_key: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    uses: Mapped[float] = mapped_column(Double)
    sessions: Mapped[int]
    last_at: Mapped[Timestamp]


class CategoryStatistic(Base):
    """Outcomes for a tool and messages of a category; decayed weights of decisions."""

    __tablename__ = "category_statistic"
    __table_args__ = (
        CheckConstraint(
            "kept >= 0 and hidden >= 0 and used >= 0 and missed >= 0", name="weights_are_not_negative"
        ),
    )

    tenant_id: Mapped[TenantKey]
    category: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    tool: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    kept: Mapped[float] = mapped_column(Double)
    hidden: Mapped[float] = mapped_column(Double)
    used: Mapped[float] = mapped_column(Double)
    missed: Mapped[float] = mapped_column(Double)


class UserProfile(Base):
    """Weight of a category in a user's messages; decayed weights of decisions."""

    __tablename__ = "user_profile"
    __table_args__ = (CheckConstraint("weight >= 0", name="weight_is_not_negative"),)

    tenant_id: Mapped[TenantKey]
    user_id: Mapped[str] = mapped_column(primary_key=True)
    category: Mapped[str] = mapped_column(Text(collation="C"), primary_key=True)
    weight: Mapped[float] = mapped_column(Double)


_COUNT_FOCUSES = text(
    """
    insert into focus_statistic (tenant_id, tool, focus_key, uses, sessions, last_at)
    select :tenant_id, tool, focus_key, sum(weight), count(distinct session_id), max(last_at)
    from (
        select artifact_use.tool, summary.focus_key, summary.session_id, used_at as last_at,
            uses * exp(-ln(2) * extract(epoch from now() - used_at) / 86400 / :half_life_days) as weight,
            row_number() over (partition by summary.artifact_id, summary.focus_key, summary.model,
                summary.prompt_version, summary.size_class, summary.language
                order by artifact_use.created_at desc, artifact_use.seq desc) as place
        from artifact_summary as summary
        join artifact_use using (tenant_id, artifact_id)
        where tenant_id = :tenant_id and uses > 0 and used_at is not null
            and summary.session_id is not null and artifact_use.tool <> '' and focus_key <> 'general'
    ) as used
    where place = 1 and weight > 0
    group by tool, focus_key
    """
)


def count_focuses(scope: Scope, *, half_life_days: float) -> int:
    """Count the reading focuses of each tool's artifacts again. Safe to call twice. Returns the rows."""
    scope.db.execute(delete(FocusStatistic).where(FocusStatistic.tenant_id == scope.tenant_id))
    values = {"half_life_days": half_life_days}
    return scope.execute(_COUNT_FOCUSES, **values).rowcount


_LIKELY_FOCUSES = text(
    """
    select asked.artifact_id, asked.focus_key, asked.size_class, asked.focus,
        counted.uses / sum(counted.uses) over () as share
    from (
        select focus_key, uses, sessions from focus_statistic
        where tenant_id = :tenant_id and tool = :tool order by uses desc, focus_key limit :most
    ) as counted
    join lateral (
        select artifact_id, focus_key, size_class, focus from artifact_summary
        where tenant_id = :tenant_id and focus_key = counted.focus_key and session_id is not null
        order by used_at desc nulls last limit 1
    ) as asked on true
    where sessions >= :sessions
    order by share desc
    """
)


def likely_focuses(scope: Scope, tool: str, *, most: int = MOST_FOCUSES_A_TOOL) -> list[tuple[str, float]]:
    """Find the likely reading focuses for a tool's artifacts, with shares of the uses, likeliest first.

    Only focuses of several sessions count, with words still held by a session.
    """
    values = {"tool": tool, "most": most, "sessions": SHARED_SESSIONS}
    cells, likely = scope.cells, []
    for row in scope.execute(_LIKELY_FOCUSES, **values):
        key = SummaryKey(row.artifact_id, row.focus_key, row.size_class, "")
        likely.append((open_focus(cells, key, row.focus, ())[0], float(row.share)))
    return sorted(likely, key=lambda entry: (-entry[1], entry[0]))


_DECIDED = """
    with decided as materialized (
        select decision.*, exp(-ln(2) * extract(epoch from now() - decided_at) / 86400 / :half_life_days)
            as weight
        from preflight_decision as decision
        where tenant_id = :tenant_id and joined_at is not null
    )
"""

_COUNT_CATEGORIES = text(
    f"""
    insert into category_statistic (tenant_id, category, tool, kept, hidden, used, missed)
    {_DECIDED}
    select :tenant_id, category, tool, sum(weight * is_kept), sum(weight * (1 - is_kept)),
        sum(weight * is_kept * is_used), sum(weight * (1 - is_kept) * is_used)
    from (
        select category, tool, weight, is_kept, (tool = any(used))::integer as is_used
        from decided
        cross join lateral (select distinct unnest(categories) as category) as about
        cross join lateral (
            select unnest(kept) as tool, 1 as is_kept union select unnest(hidden), 0
        ) as shown
    ) as each
    where weight > 0
    group by category, tool
    """  # noqa: S608 (constant text)
)

_COUNT_PROFILES = text(
    f"""
    insert into user_profile (tenant_id, user_id, category, weight)
    {_DECIDED}
    select :tenant_id, turn.user_id, category, sum(weight)
    from decided
    join turn on turn.tenant_id = :tenant_id and turn.session_id = decided.session_id
        and turn.turn_index = decided.turn_index
    cross join lateral (select distinct unnest(categories) as category) as about
    where turn.user_id is not null and weight > 0
    group by turn.user_id, category
    """  # noqa: S608 (constant text)
)


def count_categories(scope: Scope, *, half_life_days: float) -> int:
    """Count kept, hidden and used tools by category again, and the categories by user.

    Safe to call twice. Returns the number of rows of both tables.
    """
    values = {"half_life_days": half_life_days}
    hold_profiles(scope)
    scope.db.execute(delete(CategoryStatistic).where(CategoryStatistic.tenant_id == scope.tenant_id))
    scope.db.execute(delete(UserProfile).where(UserProfile.tenant_id == scope.tenant_id))
    return (
        scope.execute(_COUNT_CATEGORIES, **values).rowcount
        + scope.execute(_COUNT_PROFILES, **values).rowcount
    )


_PROFILE = select(UserProfile.category, UserProfile.weight).where(
    UserProfile.tenant_id == bindparam("tenant_id"), UserProfile.user_id == bindparam("user_id")
)
FULL_WEIGHT = 10.0
"""Number of messages below which a profile is shrunk."""


def find_profile(scope: Scope, user_id: str) -> Mapping[str, float]:
    """Find the share of a user's messages in each category, in [0, 1], shrunk for few messages."""
    rows = scope.execute(_PROFILE, user_id=user_id).all()
    total = sum(row.weight for row in rows)
    return {row.category: row.weight / max(total, FULL_WEIGHT) for row in rows}


_HOLD_PROFILES = text("select pg_advisory_xact_lock(hashtextextended(:name, 0))")


def hold_profiles(scope: Scope) -> None:
    """Lock a tenant's profiles until the transaction ends, against counting and erasing.

    Without the lock, a count that had read data erased a moment later would bring a user's profile back.
    """
    scope.db.execute(_HOLD_PROFILES, {"name": f"user_profile {scope.tenant_id}"})


def forget_profile(scope: Scope, user_id: str) -> int:
    """Delete a user's profile. Returns the number of deleted rows."""
    return scope.db.execute(
        delete(UserProfile).where(UserProfile.tenant_id == scope.tenant_id, UserProfile.user_id == user_id)
    ).rowcount
