"""What the background spent, by purpose, and what was ever shown of it: from the ledger and its tables."""

from dataclasses import dataclass, field

import psycopg

from benchmarks.economy.account import BACKGROUND_IN_USD, BACKGROUND_OUT_USD

_SPENT = """
    select purpose, count(*), coalesce(sum(input_tokens), 0)::bigint, coalesce(sum(output_tokens), 0)::bigint
    from llm_call where session_id like %(like)s group by purpose order by purpose
"""
_SUMMARIES = """
    select count(*) filter (where state <> 'rejected'), count(*) filter (where activated_at is not null),
        count(*) filter (where state = 'rejected')
    from summary where session_id like %(like)s
"""
_READINGS = """
    select count(*), count(*) filter (where uses > 0), coalesce(sum(uses), 0)::bigint
    from artifact_summary where session_id like %(like)s
"""

PLAN = "plan"
"""The purpose of calls that plan artifacts; plans themselves are forgotten soon, so calls are counted."""


@dataclass
class Spent:
    """Calls and tokens of one purpose."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def add(self, other: "Spent") -> None:
        """Take another one in."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    @property
    def tokens(self) -> int:
        """Both ways."""
        return self.input_tokens + self.output_tokens

    @property
    def usd(self) -> float:
        """What they cost."""
        return (self.input_tokens * BACKGROUND_IN_USD + self.output_tokens * BACKGROUND_OUT_USD) / 1e6


@dataclass
class Background:
    """Work for some conversations, and its use.

    Attributes:
        spent: By purpose.
        made: Summaries, readings and plans that were made, and summaries that were refused.
        used: Summaries that were ever in force, readings that were ever shown, contexts that followed a plan.
    """

    spent: dict[str, Spent] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        """All of it."""
        return sum(spent.tokens for spent in self.spent.values())

    @property
    def usd(self) -> float:
        """What it cost."""
        return sum(spent.usd for spent in self.spent.values())

    def add(self, other: "Background") -> None:
        """Take another one in."""
        for purpose, spent in other.spent.items():
            self.spent.setdefault(purpose, Spent()).add(spent)
        for mine_by_name, theirs in ((self.made, other.made), (self.used, other.used)):
            for name, count in theirs.items():
                mine_by_name[name] = mine_by_name.get(name, 0) + count


def look(database: psycopg.Connection, session_id: str, planned: int) -> Background:
    """Count what was done for a session.

    Args:
        database: The stack's.
        session_id: The session.
        planned: How many of its contexts followed a model's plan, as they said.
    """
    like = {"like": session_id}
    found = Background()
    for name, calls, read, written in database.execute(_SPENT.encode(), like).fetchall():
        found.spent[name] = Spent(calls, read, written)
    made, in_force, refused = _row(database, _SUMMARIES, like)
    readings, used, _ = _row(database, _READINGS, like)
    plans = found.spent.get(PLAN, Spent()).calls
    found.made = {"summaries": made, "refused": refused, "readings": readings, "plans": plans}
    found.used = {"summaries": in_force, "readings": used, "plans": planned}
    return found


def _row(database: psycopg.Connection, query: str, like: dict[str, str]) -> tuple[int, ...]:
    row = database.execute(query.encode(), like).fetchone()
    return tuple(map(int, row)) if row else ()
