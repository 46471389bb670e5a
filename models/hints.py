"""Hints left after an answer by one statement: topic, preflight decision, expectation, uses of artifacts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from models.artifacts.artifact import TOUCH_SQL
from models.artifacts.summary import SummaryKey
from models.artifacts.summary_cache import READ_SQL, UseOfSummary, read_json, touched_json
from models.artifacts.summary_cache import TOUCH_SQL as TOUCH_SUMMARIES_SQL
from models.base import json_of, read_rows
from models.database import HINT_LIMITS_SQL
from models.driver_statement import DriverStatement
from models.learning.cache_found import EXPECT_SQL, Expectation, expectation_json
from models.preflight.decision import DECISION_SQL, Made, decision_json
from models.preflight.policy import TOPIC_SQL
from models.scope import Scope
from models.telemetry.counters import Counted, count


@dataclass(frozen=True)
class Hints:
    """Dispensable data of an answer: nothing of it decides about an answer that was given.

    Attributes:
        session_id: The session; None without a session.
        topic: The categories of the session's task, and their confidence; None to keep the known topic.
        decision: A preflight decision to record; None for none.
        expected: What the request showed; None for an unstored session.
        readings: Number of reads of artifacts, by how they were answered.
        artifact_ids: Artifacts shown.
        summaries: Keys of the summaries shown.
    """

    session_id: str | None = None
    topic: tuple[Sequence[str], float] | None = None
    decision: Made | None = None
    expected: Expectation | None = None
    readings: Mapping[str, int] = field(default_factory=dict)
    artifact_ids: Sequence[str] = ()
    summaries: Sequence[SummaryKey] = ()

    @property
    def is_worth_it(self) -> bool:
        """Whether there is anything to store."""
        used = (self.readings, self.artifact_ids, self.summaries)
        return any((self.topic, self.decision, self.expected, *used))

    @property
    def rows(self) -> dict[str, list[Any]]:
        """The rows of each part, as the statement reads them."""
        topic = self.topic and {"categories": list(self.topic[0]), "confidence": self.topic[1]}
        return {
            "topic": [topic] if topic else [],
            "decision": [decision_json(self.decision)] if self.decision else [],
            "expected": [expectation_json(self.expected)] if self.expected else [],
            "readings": read_json(self.readings),
            "artifact_ids": sorted(set(self.artifact_ids)),
            "summaries": touched_json(self.summaries),
        }


NO_HINTS = Hints()

_LEAVE = DriverStatement(
    f"""
    with limits as materialized ({HINT_LIMITS_SQL}),
    topic as ({TOPIC_SQL}),
    decision as ({DECISION_SQL}),
    expected as ({EXPECT_SQL}),
    readings as ({READ_SQL}),
    touched as ({TOUCH_SQL}),
    summaries as ({TOUCH_SUMMARIES_SQL})
    select cast((select json_agg(json_build_array(artifact_id, origin, tokens)) from summaries) as text)
    from limits
    """  # noqa: S608 (parts of our own)
)


def leave_hints(scope: Scope, hints: Hints) -> list[UseOfSummary]:
    """Store all hints, or none where another transaction holds one of the rows.

    Args:
        scope: A connection on which each statement commits by itself; the commit does not wait for the
            disk.
        hints: The hints.

    Returns:
        The summaries shown.

    Raises:
        OperationalError: A row was locked for longer than `HINT_LOCK_MS`.
    """
    if not hints.is_worth_it:
        return []
    rows = hints.rows
    for row in rows["readings"]:
        count(Counted.ARTIFACT_READS, row["how"], by=row["readings"])
    asked = {name: json_of(part) for name, part in rows.items()}
    [(used,)] = _LEAVE.rows(scope.db, {"tenant_id": scope.tenant_id, "session_id": hints.session_id, **asked})
    return [UseOfSummary(*row) for row in read_rows(used)]
