# ruff: noqa: SIM905 - tables
"""Signs in the form of a message: length, questions, and parts that are no words."""

import re

from context.preflight.lexicon.finder import Found

SHORT_CHARS = 20
MIDDLE_CHARS = 150
BRIEF_CHARS = 90
PERSONAL_CHARS = 200
_MANY_QUESTIONS = 3
_SENTENCES, _MANY_SENTENCES = 3, 5
_LIST_ITEMS = 2
_MANY_LIST_ITEMS = 3

_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[\u3002\u06d4\u0964]")
_BULLET = re.compile(r"^[ \t]{0,8}[-*\u2022] ", re.MULTILINE)
_HUMP = re.compile(r"[a-z]{2,40}[A-Z]")
_TRIMMED = "\"'`()[]<>,;:!?*\u201c\u201d\u2018\u2019\u00ab\u00bb\u3002\uff0c"
_CODE_FILES = frozenset(
    "py pyi js mjs ts tsx jsx java c cc cpp cxx h hpp cs go rs rb php sh bash zsh sql html htm css scss json "
    "jsonl yaml yml toml xml csv tsv txt log ini conf cfg env gz tar tgz zip ipynb swift kt scala pl lua r m "
    "psv lock gradle tf proto vue bib tex md".split()
)
_MEDIA_FILES = frozenset(
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
    ends = len(_SENTENCE_END.findall(text))
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
        if chunk.isalpha():
            if not chunk.islower() and _HUMP.match(chunk):
                _mark(found, "shape.identifier", chunk)
            continue
        if chunk[-1] in ".)" and chunk[:-1].isdecimal():
            numbered += 1
        bare = chunk.strip(_TRIMMED)
        if bare and not bare.isalpha():
            _look_at(bare.rstrip("."), chunk, found)
        elif bare.endswith(("Error", "Exception")):
            _mark(found, "shape.identifier", bare)
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
    elif ending in _MEDIA_FILES:
        _mark(found, "shape.media_file", bare)
    elif ending in _DOCUMENT_FILES:
        _mark(found, "shape.document", bare)
