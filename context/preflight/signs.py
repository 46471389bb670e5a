"""Search for signs in a message: words of a lexicon in one pass, and signs of the form."""

# ruff: noqa: SIM905 - tables

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
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")

Signs = tuple[str, ...]
Found = dict[str, set[str]]
_NONE: Signs = ()

_IDIOMS = frozenset({"casual.greeting", "casual.thanks", "casual.bye", "casual.yes", "casual.no"})
_SUBJECTS = ("code.", "coin.", "media.", "ops.")
"""Signs that a word inside an idiom does not give: "sounds good", "hey bot"."""


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
        idioms = set[str]()
        for place in [place for place, word in enumerate(words) if word in heads]:
            following = words[place + 1] if place + 1 < len(words) else ""
            for phrase, sign in phrases.get((words[place], following), ()):
                if words[place : place + len(phrase)] == phrase:
                    found.setdefault(sign, set()).add(" ".join(phrase))
                    if sign in _IDIOMS:
                        idioms.update(phrase)
        for word in dict.fromkeys(words):
            for sign in signs_of(word):
                if word not in idioms or not sign.startswith(_SUBJECTS):
                    found.setdefault(sign, set()).add(word)

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
    """Yield a word without elided articles, possessive, drawn-out letters, Arabic particles and article."""
    head, apostrophe, rest = word.partition("'")
    if apostrophe and len(head) <= _ELIDED_CHARS:
        yield rest
    if rest == "s":
        yield head
    if _DRAWN_OUT.search(word):
        yield _DRAWN_OUT.sub(r"\1", word)
        yield _DRAWN_OUT.sub(r"\1\1", word)
    if not _ARABIC.match(word):
        return
    if word.startswith((_ARTICLE, _DOUBLE_LAM)):
        yield word[2:]
    if word.startswith(_CLITICS):
        yield word[1:]
        if word.startswith(_ARTICLE, 1):
            yield word[3:]


SHORT_CHARS = 20
MIDDLE_CHARS = 150
BRIEF_CHARS = 90
PERSONAL_CHARS = 200
_MANY_QUESTIONS = 3
_SENTENCES, _MANY_SENTENCES = 3, 5
_LIST_ITEMS = 2
_MANY_LIST_ITEMS = 3

SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\u3002\u06d4\u0964]")
_BULLET = re.compile(r"^[ \t]{0,8}[-*\u2022] ", re.MULTILINE)
_ITEM = re.compile(r"\(?(?:\d{1,3}[.):]|[A-Za-z]\)|[ivx]{1,4}\))")
_ERROR = re.compile(
    r"\b(?:[A-Z]\w{1,60}(?:Error|Exception|Warning)|E(?:NOENT|ACCES|PERM|EXIST|PIPE|INVAL|NOMEM|NOSPC|MFILE|BUSY"
    r"|ADDRINUSE|TIMEDOUT|CONN(?:REFUSED|RESET|ABORTED)|HOSTUNREACH|NOTFOUND|ISDIR|NOTDIR|NOTEMPTY|RESOLVE))\b"
)
"""A name of an error, as programs print it."""

_HUMP = re.compile(r"[a-z]{2,40}[A-Z]")
_TRIMMED = "\"'`()[]<>,;:!?*\u201c\u201d\u2018\u2019\u00ab\u00bb\u3002\uff0c"
_CODE_FILES = frozenset(
    "py pyi js mjs ts tsx jsx java c cc cpp cxx h hpp cs go rs rb php sh bash zsh sql html htm css scss json "
    "jsonl yaml yml toml xml csv tsv txt log ini conf cfg env gz tar tgz zip ipynb swift kt scala pl lua r m "
    "psv lock gradle tf proto vue bib tex md".split()
)
MEDIA_FILES = frozenset(
    "png jpg jpeg gif webp bmp svg tiff heic mp3 wav flac ogg m4a aac mp4 mov avi mkv webm srt vtt".split()
)
_DOCUMENT_FILES = frozenset("pdf doc docx ppt pptx xls xlsx odt ods odp epub".split())
_OPERATOR = re.compile(r"::|->|=>|==|!=|&&|\|\||</|\{\}|\$\{|\+=|\(\)")
_PATH_STARTS = ("/", "./", "../", "~/")
_WEB_STARTS = ("http://", "https://", "www.")
_COIN_CHARS = 5
_ONCE = "1"


def find_shape(text: str, *, chars: int, found: Found) -> None:
    """Add the signs of a message's form.

    Args:
        text: The message, or its beginning and end, as written.
        chars: The length in characters, characters of dense scripts counted for two, >= 0.
        found: The signs to extend.
    """
    if len(text) < SHORT_CHARS:
        _mark(found, "shape.short")
    if chars > MIDDLE_CHARS:
        _mark(found, "shape.middle")
    if "```" in text:
        _mark(found, "shape.fence")
    if "://" in text or "www." in text:
        _mark(found, "shape.link")
    _find_questions(text, found)
    _find_sentences(text, found)
    _find_chunks(text, found)


def _mark(found: Found, sign: str, what: str = _ONCE) -> None:
    found.setdefault(sign, set()).add(what)


def _find_questions(text: str, found: Found) -> None:
    marks = text.count("?") - text.count("??") + text.count("\uff1f") + text.count("\u061f")
    if marks:
        _mark(found, "shape.question")
    if marks >= _MANY_QUESTIONS:
        _mark(found, "shape.many_questions")


def _find_sentences(text: str, found: Found) -> None:
    if len(text) < SHORT_CHARS:
        return
    ends = len(SENTENCE_END.findall(text))
    if ends >= _SENTENCES:
        _mark(found, "shape.sentences")
    if ends >= _MANY_SENTENCES:
        _mark(found, "shape.many_sentences")
    if "\n" in text and len(_BULLET.findall(text)) >= _MANY_LIST_ITEMS:
        _mark(found, "shape.list")


def _find_chunks(text: str, found: Found) -> None:
    """Find the signs of chunks between blanks that are no plain words."""
    numbered = 0
    for chunk in text.split():
        if not chunk.islower() and (name := _ERROR.search(chunk)):
            _mark(found, "code.strong", name[0])
        if chunk.isalpha():
            if not chunk.islower() and _HUMP.match(chunk):
                _mark(found, "shape.identifier", chunk)
            continue
        if _ITEM.fullmatch(chunk):
            numbered += 1
        bare = chunk.strip(_TRIMMED)
        if bare and not bare.isalpha():
            _look_at(bare.rstrip("."), chunk, found)
    if numbered >= _LIST_ITEMS:
        _mark(found, "shape.list")


def _look_at(bare: str, chunk: str, found: Found) -> None:
    if bare.startswith(_WEB_STARTS):
        return
    if "$" in bare:
        _mark(found, _dollar_sign(bare), bare)
    if (
        "/" in bare
        and (bare.startswith(_PATH_STARTS) or bare.endswith("/") or bare.count("/") > 1)
        and len(bare) > 1
    ):
        _mark(found, "shape.path", bare)
    if "." in bare:
        _look_at_file(bare, found)
    if _OPERATOR.search(chunk):
        _mark(found, "shape.operator", chunk)
    elif "_" in bare[1:-1] or ("-" in bare and bare.startswith("-") and bare[1:].strip("-").isalpha()):
        _mark(found, "shape.identifier", bare)


def _dollar_sign(bare: str) -> str:
    """A coin's short name, a variable, or an amount."""
    name = bare.lstrip("$")
    if not name.isalpha():
        return "shape.dollar"
    return "shape.cashtag" if len(name) <= _COIN_CHARS else "shape.identifier"


def _look_at_file(bare: str, found: Found) -> None:
    _, _, ending = bare.rpartition(".")
    ending = ending.lower()
    if ending in _CODE_FILES:
        _mark(found, "shape.path", bare)
    elif ending in MEDIA_FILES:
        _mark(found, "shape.media_file", bare)
    elif ending in _DOCUMENT_FILES:
        _mark(found, "shape.document", bare)
