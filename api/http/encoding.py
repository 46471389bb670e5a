"""JSON output: fast, and exact for any JSON input."""

import json
from typing import Any

import orjson

IN_ORDER = orjson.OPT_SORT_KEYS


def encode(value: Any, option: int = 0) -> bytes:
    """Write JSON with content from a client.

    Args:
        value: A decoded JSON value.
        option: 0, or `IN_ORDER` to sort the keys.

    Returns:
        The JSON text, integers of any length unchanged.
    """
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # an integer of more than 64 bits is valid JSON, and orjson does not know it
        in_order = bool(option & IN_ORDER)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=in_order).encode()
