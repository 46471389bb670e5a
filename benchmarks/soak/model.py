"""The scripted model in a process of its own, as slow as real ones are, and now and then as faulty."""

import argparse
import json
import random
import signal
import sys
import threading

from context.types import JsonObject
from llm.scripted import Recorded, ScriptedServer
from llm.scripted.steps import Mode, Script, Step

SIGMA = 0.6
"""Spread of the latency's logarithm: the 95th percentile is 2.7 times the median."""

FAULTS = (Mode.SERVER_ERROR, Mode.EMPTY, Mode.CUT_OFF, Mode.TRUNCATED_JSON)


class SlowScript(Script):
    """Good answers after a lognormal wait; a share of them is wrong in some way."""

    def __init__(self, seed: int, *, median_s: float, faulty: float) -> None:
        """Draw every wait from a seed."""
        super().__init__()
        self._rng = random.Random(seed)  # noqa: S311 (repeatable, not secret)
        self._rng_lock = threading.Lock()
        self._median_s, self._faulty = median_s, faulty

    def next_step(self, model: str) -> Step:
        """The next answer; the model's name asks for nothing here."""
        del model
        with self._rng_lock:
            delay_s = self._median_s * self._rng.lognormvariate(0, SIGMA)
            is_faulty = self._rng.random() < self._faulty
            mode = self._rng.choice(FAULTS) if is_faulty else Mode.SUMMARY
        return Step(mode, delay_s=delay_s, retry_after_s=1)


class ForgetfulServer(ScriptedServer):
    """Counts requests and keeps nothing of what they say."""

    def record(self, body: JsonObject) -> tuple[Recorded, int]:
        """Remember that there was one."""
        return super().record({"model": body.get("model", "")})


def main() -> None:
    """Print one JSON line with the addresses, then answer until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--median-s", type=float, default=0.6)
    parser.add_argument("--faulty", type=float, default=0.01)
    asked = parser.parse_args()
    server = ForgetfulServer()
    server.script = SlowScript(asked.seed, median_s=asked.median_s, faulty=asked.faulty)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(json.dumps({"base_url": server.base_url, "control_url": server.control_url}), flush=True)
    server.serve()


if __name__ == "__main__":
    main()
