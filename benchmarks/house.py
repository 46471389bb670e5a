"""Measure the house: files, lines, class names defined twice and the prose of docstrings, by package.

    python -m benchmarks.house [PATH]

Prints one line a package and a total. PATH is the root of another checkout to measure, for example the commit
before; today's rows stand beside its rows then.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import save

PACKAGES = ("context", "models", "llm", "workers", "api", "afterturn")
ROOT = Path(__file__).resolve().parents[1]

POINTING_WORDS = frozenset(
    [
        *("it", "its", "itself", "he", "she", "him", "her", "they", "them", "their", "theirs", "themselves"),
        *("that", "this", "these", "those", "which", "what", "who", "whom", "whose", "whoever", "whatever"),
        *("one", "ones"),
    ]
)
"""Pronouns and relative words: each sends the reader back to another noun."""

_WORD = re.compile(r"[a-z']+")
_POINTING_START = re.compile(r"(?:^|[.:]\s+)(?:What|Which|Whose|Whether|Those|None|Who)\b")
_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Prose:
    """Counts over docstrings: words, pointing words, "what", and sentences that begin with such a word."""

    docstrings: int = 0
    words: int = 0
    pointing: int = 0
    what: int = 0
    starts: int = 0

    def __add__(self, other: "Prose") -> "Prose":
        """Add the counts of other docstrings."""
        return Prose(
            self.docstrings + other.docstrings,
            self.words + other.words,
            self.pointing + other.pointing,
            self.what + other.what,
            self.starts + other.starts,
        )

    @property
    def figures(self) -> dict[str, float]:
        """Pointing words and "what" per 100 words; pointing starts per 100 docstrings."""
        words, docstrings = max(self.words, 1), max(self.docstrings, 1)
        return {
            "pointing": round(100 * self.pointing / words, 2),
            "what": round(100 * self.what / words, 2),
            "starts": round(100 * self.starts / docstrings, 1),
        }


def read_prose(docstrings: Iterable[str]) -> Prose:
    """Count the words of docstrings."""
    total = Prose()
    for docstring in docstrings:
        counts = Counter(_WORD.findall(docstring.lower()))
        pointing = sum(counts[word] for word in POINTING_WORDS)
        starts = len(_POINTING_START.findall(docstring))
        total += Prose(1, counts.total(), pointing, counts["what"], starts)
    return total


def find_docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, its classes and its functions."""
    for node in ast.walk(tree):
        if isinstance(node, _Documented) and (docstring := ast.get_docstring(node)):
            yield docstring


def find_twice(trees: Iterable[ast.Module]) -> set[str]:
    """Find the names of classes that several modules define at their top."""
    names = Counter(node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef))
    return {name for name, times in names.items() if times > 1}


def measure(root: Path) -> dict[str, dict[str, float]]:
    """Measure the production packages of a checkout: {package: {figure: value}}, "all" last."""
    trees: dict[str, list[ast.Module]] = {}
    rows: dict[str, dict[str, float]] = {}
    total = Prose()
    for package in PACKAGES:
        files = sorted((root / package).rglob("*.py"))
        texts = [file.read_text() for file in files]
        trees[package] = [ast.parse(text) for text in texts]
        prose = read_prose(docstring for tree in trees[package] for docstring in find_docstrings(tree))
        total += prose
        rows[package] = {
            "files": sum(file.name != "__init__.py" for file in files),
            "lines": sum(len(text.splitlines()) for text in texts),
            "top entries": sum(
                path.name != "__init__.py" and (path.is_dir() or path.suffix == ".py")
                for path in (root / package).iterdir()
                if path.name != "__pycache__"
            ),
            "classes twice": len(find_twice(trees[package])),
            **prose.figures,
        }
    everything = [tree for package in PACKAGES for tree in trees[package]]
    sums = {figure: sum(row[figure] for row in rows.values()) for figure in ("files", "lines", "top entries")}
    return rows | {"all": {**sums, "classes twice": len(find_twice(everything)), **total.figures}}


def show(rows: dict[str, dict[str, float]]) -> None:
    """Print a table: one line a package."""
    figures = list(rows["all"])
    print(f"{'':12}" + "".join(f"{figure:>15}" for figure in figures))
    for package, row in rows.items():
        print(f"{package:12}" + "".join(f"{row[figure]:>15,}" for figure in figures))


def main() -> None:
    """Measure this checkout, and another one where a path is given."""
    parser = argparse.ArgumentParser(description="Measure files, lines, names and prose by package.")
    parser.add_argument("path", nargs="?", type=Path, help="the root of another checkout, printed first")
    other = parser.parse_args().path
    if other is not None:
        print(f"-- {other}")
        show(measure(other))
        print("-- this checkout")
    rows = measure(ROOT)
    show(rows)
    save("house", rows)


if __name__ == "__main__":
    main()
