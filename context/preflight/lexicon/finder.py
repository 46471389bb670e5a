"""Search for the signs of a lexicon in a text: one pass over the words, and a look-up a word."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from context.text.terms import fold_word

WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*(?:\+\+|#)?")
UNSPACED = re.compile("[\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
"""Chinese and Japanese have no blanks between words, and Korean words carry particles."""
_ARABIC = re.compile("[\u0620-\u06ff]")
_CLITICS = ("\u0648", "\u0641", "\u0628", "\u0644", "\u0643", "\u0633")
_ARTICLE = "\u0627\u0644"
_DOUBLE_LAM = "\u0644\u0644"
_ELIDED_CHARS = 2
_MIN_STEM = 2
_MEMO = 16_384

Signs = tuple[str, ...]
Found = dict[str, set[str]]
_NONE: Signs = ()


def fold(text: str) -> str:
    """Write a text in small letters, without accents, quotes straight."""
    return fold_word(text if text.isascii() else text.replace("\u2019", "'"))


class Lexicon:
    """Words and phrases, each a sign of something, found by look-up alone, without backtracking.

    Attributes:
        signs_of: The signs of a single folded word; recent answers are cached.
    """

    def __init__(self, *tables: Mapping[str, str | Iterable[str]]) -> None:
        """Take words by sign.

        Args:
            tables: By sign, the entries, or all entries in one string with blanks between. In an entry `_`
                joins the words of a phrase, and `*` at the end of a single word stands for any ending. `=` at
                the end of an entry written without blanks means that nothing may stand around the entry.
        """
        self._exact: dict[str, Signs] = {}
        self._stems: dict[str, Signs] = {}
        self._heads: set[str] = set()
        self._phrases: dict[tuple[str, str], tuple[tuple[list[str], str], ...]] = {}
        self._whole: dict[str, Signs] = {}
        self._unspaced: dict[str, tuple[tuple[str, str], ...]] = {}
        for table in tables:
            for sign, entries in table.items():
                for entry in entries.split() if isinstance(entries, str) else entries:
                    self._add(sign, fold(entry.replace("_", " ")).strip())
        self._longest_stem = max(map(len, self._stems), default=0)
        self.signs_of = lru_cache(_MEMO)(self._signs_of)

    def _add(self, sign: str, entry: str) -> None:
        if run := UNSPACED.search(entry):
            text = run.group()
            if entry.endswith("="):
                self._whole[text] = (*self._whole.get(text, _NONE), sign)
                return
            self._unspaced[text[0]] = (*self._unspaced.get(text[0], ()), (text, sign))
            return
        head, *rest = WORD.findall(entry) or [""]
        if rest:
            pair = (head, rest[0])
            self._heads.add(head)
            self._phrases[pair] = (*self._phrases.get(pair, ()), ([head, *rest], sign))
        elif head:
            table = self._stems if entry.endswith("*") else self._exact
            table[head] = (*table.get(head, _NONE), sign)

    def _signs_of(self, word: str) -> Signs:
        found = set(self._plain(word))
        if not found:
            found.update(sign for bare in _bare_forms(word) for sign in self._plain(bare))
        return tuple(sorted(found))

    def _plain(self, word: str) -> Signs:
        for end in range(min(len(word), self._longest_stem), _MIN_STEM - 1, -1):
            if (signs := self._stems.get(word[:end])) is not None:
                return self._exact.get(word, _NONE) + signs
        return self._exact.get(word, _NONE)

    def find(self, words: list[str], found: Found) -> None:
        """Add the signs of words and phrases to `found`, each with its source."""
        signs_of, heads, phrases = self.signs_of, self._heads, self._phrases
        for word in dict.fromkeys(words):
            for sign in signs_of(word):
                found.setdefault(sign, set()).add(word)
        places = [place for place, word in enumerate(words) if word in heads]
        for place in places:
            following = words[place + 1] if place + 1 < len(words) else ""
            for phrase, sign in phrases.get((words[place], following), ()):
                if words[place : place + len(phrase)] == phrase:
                    found.setdefault(sign, set()).add(" ".join(phrase))

    def find_in_runs(self, runs: list[str], found: Found) -> None:
        """Add the signs in runs of letters without blanks."""
        starts = self._unspaced
        for run in runs:
            for sign in self._whole.get(run, _NONE):
                found.setdefault(sign, set()).add(run)
            for place, letter in enumerate(run):
                if letter in starts:
                    for text, sign in starts[letter]:
                        if run.startswith(text, place):
                            found.setdefault(sign, set()).add(text)


def _bare_forms(word: str) -> Iterator[str]:
    """Yield a word without attached parts: elided articles, Arabic particles and article."""
    head, apostrophe, rest = word.partition("'")
    if apostrophe and len(head) <= _ELIDED_CHARS:
        yield rest
    if not _ARABIC.match(word):
        return
    if word.startswith((_ARTICLE, _DOUBLE_LAM)):
        yield word[2:]
    if word.startswith(_CLITICS):
        yield word[1:]
        if word.startswith(_ARTICLE, 1):
            yield word[3:]
