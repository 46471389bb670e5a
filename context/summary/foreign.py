# ruff: noqa: RUF001 - words in several scripts
"""Words of others in a user's message: a pasted mail, and orders after a taking back of orders."""

import re
from collections.abc import Sequence

from context.languages import by_language
from context.summary.injection import revokes_orders
from context.text.cut import split_sentences
from context.text.marker_words import is_question

_MAIL = [*by_language(lambda one: one.mail).values()]


def _any_of(kind: str) -> str:
    words = {word for mail in _MAIL for word in mail[kind].split("|")}
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_KINDS = ("from", "sent", "subject")
_HEADER = re.compile(
    r"[\s>*_]*(?:" + "|".join(f"(?P<{kind}>{_any_of(kind)})" for kind in _KINDS) + r")[\s*_]*[:：][\s*_]*\S"
)
_ADDRESS = re.compile(r"[^\s<>@:]@[\w-]+(?:\.[\w-]+)+")
_WROTE = re.compile(rf"(?<!\w)(?:{_any_of('wrote')})(?!\w)|(?:写道|寫道|書きました)")
_FORWARDED = re.compile(
    rf"(?:[-_=*<>~#\s]{{2,}}|\w+ )?(?:{_any_of('forwarded')})(?:[-_=*<>~#\s]{{2,}}|\s*[:：])?\s*\Z"
)
_FIGURES = re.compile(r"\d+")

_HEADER_ROWS = 8
"""Most rows of a mail's head."""

_ROW_CHARS = 300
"""Characters read of a row; a line of a mail's head is shorter."""

_LEAST_FIGURES = 2
"""Figures of a day, in a line that says who wrote."""


def split_foreign(text: str) -> tuple[str, str]:
    """Split a user's message into the user's own words, and the words of others.

    A mail is told by its head, by the line above it ("On 3 May 2026, Bea wrote:") or by a title ("Forwarded
    message"). It goes to the end of the message, but for a last paragraph that asks something. After
    words that take back a model's orders nothing is the user's own.

    Args:
        text: A message.

    Returns:
        Both parts; the second one is empty where all is the user's own.
    """
    rows = text.split("\n")
    start = next((place for place in range(len(rows)) if _begins_mail(rows, place)), None)
    own, foreign = text, ""
    if start is not None:
        end = _end_of_mail(rows, start)
        own = "\n".join([*rows[:start], *rows[end:]])
        foreign = "\n".join(rows[start:end])
    if not revokes_orders(own):
        return own, foreign
    taken_back = next((one for one in split_sentences(own) if revokes_orders(one)), own)
    place = max(own.find(taken_back), 0)
    return own[:place], f"{own[place:]}\n{foreign}"


def _begins_mail(rows: Sequence[str], place: int) -> bool:
    row = rows[place][:_ROW_CHARS].casefold()
    if _HEADER.match(row):
        return _is_head(rows[place : place + _HEADER_ROWS])
    if row.rstrip().endswith((":", "：")):
        above = rows[place - 1].casefold() if place and len(_FIGURES.findall(row)) < _LEAST_FIGURES else ""
        said = f"{above} {row}"
        dated = len(_FIGURES.findall(said)) >= _LEAST_FIGURES
        if dated and (_ADDRESS.search(said) or _WROTE.search(row)):
            return True
    return _FORWARDED.match(row.strip()) is not None


def _is_head(rows: Sequence[str]) -> bool:
    """Say whether rows hold two kinds of headers, or a sender with an address: "From: Riga" alone is none."""
    kinds: set[str] = set()
    for row in rows:
        if not row.strip():
            break
        header = _HEADER.match(row.casefold())
        if header and header.lastgroup:
            kinds.add(header.lastgroup)
            if header.lastgroup == "from" and _ADDRESS.search(row):
                return True
    return len(kinds) > 1


def _end_of_mail(rows: Sequence[str], start: int) -> int:
    """Find the row after a mail: the last paragraph of the message, where that asks something."""
    last = len(rows)
    while last > start and not rows[last - 1].strip():
        last -= 1
    first = last
    while first > start and rows[first - 1].strip():
        first -= 1
    paragraph = "\n".join(rows[first:last])
    after_body = any(row.strip() for row in rows[start:first]) and _has_body(rows[start:first])
    asks = any(is_question(one) for one in split_sentences(paragraph))
    return first if after_body and asks else len(rows)


def _has_body(rows: Sequence[str]) -> bool:
    """Say whether a mail has a paragraph behind its head."""
    return any(rows[place].strip() and not rows[place - 1].strip() for place in range(1, len(rows)))
