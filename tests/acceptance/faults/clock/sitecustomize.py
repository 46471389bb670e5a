"""Put on a child's PYTHONPATH: its wall clock is wrong by what CLOCK_FILE says at each moment, in seconds.

Python reads this module by itself at its start. The clock that only counts on is left as it is.
"""

import ctypes
import datetime as dt
import gc
import mmap
import os
import struct
import time
from typing import Any

_now, _time, _time_ns = dt.datetime.now, time.time, time.time_ns


def _open() -> mmap.mmap:
    with open(os.environ["CLOCK_FILE"], "rb") as file:  # noqa: PTH123 (imported before anything else)
        return mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)


def _off_s() -> float:
    return float(struct.unpack("d", _said[:8])[0])


def _shifted_now(_class: type, tz: dt.tzinfo | None = None) -> dt.datetime:
    return _now(tz) + dt.timedelta(seconds=_off_s())


def _shifted_utcnow(_class: type) -> dt.datetime:
    return _now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=_off_s())


def _shift() -> None:
    """Change the class itself: a class in its place would not be the one that C code knows."""
    members: dict[str, Any] = gc.get_referents(dt.datetime.__dict__)[0]
    members["now"] = classmethod(_shifted_now)
    members["utcnow"] = classmethod(_shifted_utcnow)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(dt.datetime))
    time.time = lambda: _time() + _off_s()
    time.time_ns = lambda: _time_ns() + int(_off_s() * 1e9)


if "CLOCK_FILE" in os.environ:
    _said = _open()
    _shift()
