"""Counts as bytes, to continue counting in a later run."""

import math
from array import array
from collections.abc import Mapping
from typing import Any

from context.priors.features import KEY_BITS
from context.priors.packing import pack, unpack
from context.priors.state import MAX_TOOLS, TOOL_BITS, TOOL_MASK, State
from context.priors.types import CorruptPriorsError

MAGIC, VERSION = b"APST", 1
_TYPE_CODES = "QdQdddqd"


def state_to_bytes(state: State) -> bytes:
    """Pack counts without any loss of digits."""
    header = {
        "half_life_days": state.half_life_days,
        "octave": state.octave,
        "names": state.names,
        "plans": state.plans,
        "roster": state.roster,
    }
    columns: list[array[Any]] = []
    for pairs in (state.good, state.bad):
        keys = sorted(pairs)
        columns += [array("Q", keys), array("d", [pairs[key] for key in keys])]
    days = sorted(state.days)
    columns += [array("d", state.tool_good), array("d", state.tool_bad)]
    columns += [array("q", days), array("d", [state.days[day] for day in days])]
    return pack(MAGIC, VERSION, header, columns)


def state_from_bytes(data: bytes) -> State:
    """Unpack counts.

    Raises:
        CorruptPriorsError: The bytes are not counts, or their parts do not fit together.
    """
    header, columns = unpack(data, MAGIC, VERSION, _TYPE_CODES)
    good, good_weights, bad, bad_weights, tool_good, tool_bad, days, day_weights = columns
    names = header["names"] if isinstance(header.get("names"), list) else []
    sizes = (
        len(good) == len(good_weights)
        and len(bad) == len(bad_weights)
        and len(days) == len(day_weights)
        and len(names) == len(tool_good) == len(tool_bad) <= MAX_TOOLS
    )
    weights = (*good_weights, *bad_weights, *tool_good, *tool_bad, *day_weights)
    if not sizes or not _is_header(header) or not all(math.isfinite(one) and one >= 0 for one in weights):
        raise CorruptPriorsError("the parts of the counts do not fit together")
    most = 1 << (KEY_BITS + TOOL_BITS)
    if any(key >= most or key & TOOL_MASK >= len(names) for key in (*good, *bad)):
        raise CorruptPriorsError("a count is of a tool that is not there")
    return State(
        half_life_days=float(header["half_life_days"]),
        octave=header["octave"],
        names=names,
        good=dict(zip(good, good_weights, strict=True)),
        bad=dict(zip(bad, bad_weights, strict=True)),
        tool_good=list(tool_good),
        tool_bad=list(tool_bad),
        days=dict(zip(days, day_weights, strict=True)),
        plans=header["plans"],
        roster=header["roster"],
    )


def _is_header(header: Mapping[str, Any]) -> bool:
    half_life, roster = header.get("half_life_days"), header.get("roster")
    return (
        isinstance(half_life, int | float)
        and half_life > 0
        and isinstance(header.get("octave"), int)
        and isinstance(header.get("plans"), int)
        and isinstance(header.get("names"), list)
        and all(isinstance(name, str) for name in header["names"])
        and len(set(header["names"])) == len(header["names"])
        and isinstance(roster, dict)
        and all(day is None or isinstance(day, int) for day in roster.values())
    )
