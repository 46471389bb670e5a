"""Embed texts with WordLlama's table of word pieces: run by an interpreter that has the package.

Reads two lists of texts as JSON, writes their vectors to a file, and tells its cost as JSON.
"""

import json
import resource
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def main() -> None:
    """Embed what stands on standard input into the file that the first argument names."""
    found = find_spec("wordllama")
    if found is None or found.origin is None:
        sys.exit("wordllama is not installed here: pip install wordllama")
    home = Path(found.origin).parent
    numpy, bare_mib = import_module("numpy"), _memory_mib()
    began = time.process_time()
    [table] = (
        import_module("safetensors.numpy").load_file(home / "weights/l2_supercat_256.safetensors").values()
    )
    names = str(home / "tokenizers/l2_supercat_tokenizer_config.json")
    tokenizer = import_module("tokenizers").Tokenizer.from_file(names)
    tokenizer.no_padding()
    load_s = time.process_time() - began

    def embed(text: str) -> Any:
        pieces = tokenizer.encode(text, add_special_tokens=False).ids
        vector = (
            table[pieces].astype("float32").mean(axis=0) if pieces else numpy.zeros(table.shape[1], "float32")
        )
        return vector / max(float(numpy.linalg.norm(vector)), 1e-9)

    texts, requests = json.load(sys.stdin)
    vectors = numpy.stack([embed(text) for text in texts])
    began = time.process_time()
    asked = numpy.stack([embed(request) for request in requests])
    embed_ms = (time.process_time() - began) * 1000 / len(requests)
    numpy.savez(sys.argv[1], texts=vectors, requests=asked)
    print(json.dumps({"load_s": load_s, "embed_ms": embed_ms, "memory_mib": _memory_mib() - bare_mib}))


def _memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
