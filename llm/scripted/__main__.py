"""Run the scripted model for workers in another process: `python -m llm.scripted --port 0`."""

import argparse
import json
import signal
import sys

from llm.scripted.server import ScriptedServer
from llm.scripted.steps import Mode, Step


def main() -> None:
    """Print one JSON line with the addresses, then answer until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible model that follows a script.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument(
        "--default", type=Mode, default=Mode.SUMMARY, choices=list(Mode), help="the usual answer"
    )
    asked = parser.parse_args()
    server = ScriptedServer(asked.port, Step(asked.default))
    signal.signal(signal.SIGTERM, _leave)
    addresses = {"base_url": server.base_url, "control_url": server.control_url}
    sys.stdout.write(json.dumps(addresses) + "\n")
    sys.stdout.flush()
    try:
        server.serve()
    except KeyboardInterrupt:
        sys.exit(0)


def _leave(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
