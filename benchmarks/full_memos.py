"""Fill what the API remembers of words, as months of talk would, and say how full each memory is.

python -m benchmarks.full_memos
"""

import functools
import gc
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from api.app import make_app
from benchmarks.report import save
from context.focus.normalise import normalise
from context.preflight.decide import classify
from context.priors.types import feature_keys
from context.text.terms import index_terms
from context.tokens import count_text

WORDS, IN_A_TEXT = 90_000, 8
SYLLABLES = [
    "ka",
    "to",
    "mi",
    "re",
    "su",
    "no",
    "la",
    "ve",
    "di",
    "po",
    "gra",
    "ster",
    "fin",
    "hol",
    "ber",
    "wen",
]
LARGE = 4_096
"""Memories of fewer entries weigh nothing."""


def main() -> None:
    """Print the process's memory before and after, and each memory of words."""
    make_app()
    count_text("warm")
    before = memory_mb()
    for text in texts():
        index_terms(text)
        feature_keys(text)
        normalise(text)
        classify(text)
    after = memory_mb()
    table = Table("memory of words", "entries", "at most", title=f"API process: {before} MB, then {after} MB")
    found = {name: (held, most) for name, held, most in memories() if held}
    for name, (held, most) in found.items():
        table.add_row(name, f"{held:,}", f"{most:,}")
    Console().print(table)
    save("full_memos", {"before_mb": before, "after_mb": after, "entries": found})


def texts() -> Iterator[str]:
    """Texts of words that nobody said before."""
    dice = random.Random(1)  # noqa: S311
    for _ in range(WORDS // IN_A_TEXT):
        words = ("".join(dice.choices(SYLLABLES, k=dice.randint(3, 6))) for _ in range(IN_A_TEXT))
        yield " ".join(words)


def memories() -> Iterator[tuple[str, int, int]]:
    """The memories of the pure functions: name, entries, the most of them."""
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):  # noqa: SLF001 (there is no other name for it)
            wrapped: Any = one
            told = one.cache_info()
            if wrapped.__module__.startswith("context.") and (told.maxsize or 0) >= LARGE:
                yield f"{wrapped.__module__}.{wrapped.__qualname__}", told.currsize, told.maxsize or 0


def memory_mb() -> int:
    """What the process holds now."""
    gc.collect()
    status = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in status if line.startswith("VmRSS")]
    return int(line.split()[1]) // 1024


if __name__ == "__main__":
    main()
