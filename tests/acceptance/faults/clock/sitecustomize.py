"""Put on a child's PYTHONPATH: its wall clock is wrong by CLOCK_OFF_S seconds, from its first import on.

Python reads this module by itself at its start. The clock that only counts on is left as it is.
"""

import ctypes
import datetime as dt
import gc
import os
import time
from typing import Any

_OFF_S = float(os.environ.get("CLOCK_OFF_S", "0"))
_OFF = dt.timedelta(seconds=_OFF_S)
_now, _time, _time_ns = dt.datetime.now, time.time, time.time_ns


def _shifted_now(_class: type, tz: dt.tzinfo | None = None) -> dt.datetime:
    return _now(tz) + _OFF


def _shifted_utcnow(_class: type) -> dt.datetime:
    return _now(dt.UTC).replace(tzinfo=None) + _OFF


def _shift() -> None:
    """Change the class itself: a class in its place would not be the one that C code knows."""
    members: dict[str, Any] = gc.get_referents(dt.datetime.__dict__)[0]
    members["now"] = classmethod(_shifted_now)
    members["utcnow"] = classmethod(_shifted_utcnow)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    time.time = lambda: _time() + _OFF_S
    time.time_ns = lambda: _time_ns() + int(_OFF_S * 1e9)


if _OFF_S:
    _shift()
