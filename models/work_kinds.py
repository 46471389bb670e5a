"""What can be due, and where a piece of it stands."""

from enum import StrEnum


class WorkKind(StrEnum):
    """What can be due; also the key's first part, so renaming one strands its rows."""

    SUMMARIZE = "summarize"
    RECALL = "recall"
    SWEEP = "sweep"
    LEARN = "learn"
    PLAN = "plan"
    ARTIFACT = "artifact"
    CONTEXT_PLAN = "context_plan"
    RELABEL = "relabel"
    SHADOW = "shadow"


class WorkState(StrEnum):
    """Where a piece of work stands."""

    READY = "ready"
    RUNNING = "running"
    IDLE = "idle"
    DEAD = "dead"
