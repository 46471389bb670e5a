"""Kinds and states of due work."""

from enum import StrEnum


class WorkKind(StrEnum):
    """Kind of due work; also the key's first part, so a renamed kind strands the rows."""

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
    """State of a piece of work."""

    READY = "ready"
    RUNNING = "running"
    IDLE = "idle"
    DEAD = "dead"
