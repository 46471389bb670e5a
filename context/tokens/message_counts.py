"""Counts of stored messages: added up, completed if missing, corrected after a change."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from context.tokens import Count, EncodingName, count_text, measure_message, media_correction
from context.tokens.media_facts import Media
from context.tokens.media_tokens import canonical_media_tokens
from context.tokens.message import wrapping_tokens
from context.tokens.pieces import Pieces, pieces_of
from context.types import Message

_MEDIA = re.compile(r'"type":\s*"[a-z_]*(?:image|audio|video|file|document|screenshot)')

_PLAIN = ('{"role":"user","content":"', '{"role":"assistant","content":"')
_PLAIN_START = min(map(len, _PLAIN))


def count_of(messages: Iterable[Message], model: str | None = None) -> Count:
    """Add up the stored counts of messages.

    Args:
        messages: Any number of messages; a message without its second count is counted.
        model: The model whose price of media counts if above the price in stored counts.

    Returns:
        Their count, both counts known.
    """
    tokens = wide = calls = number = 0
    for message in messages:
        both = measured(message)
        extra = _media_extra(message, model) if model else 0
        number += 1
        tokens += both.tokens + extra
        wide += (both.tokens_wide or 0) + extra
        calls += _all_calls(message)
    return Count(tokens, wide, number, calls)


def is_plain(message: Message) -> bool:
    """Say whether a message is only a role and a text, so that the text ends with the message.

    A quote inside a JSON text is escaped, so another member shows as a bare quote, a comma and a quote.
    """
    raw = message.raw
    return raw.startswith(_PLAIN) and raw.endswith('"}') and raw.find('","', _PLAIN_START) == -1


def measured(message: Message) -> Message:
    """Complete both counts of a message, reusing stored counts."""
    return message if message.tokens_wide is not None else recounted(message)


def recounted(message: Message) -> Message:
    """Count a message anew, after an edit."""
    count = measure_message(message.body, message.wire)
    return replace(message, tokens=count.tokens, tokens_wide=count.wide)


def counted_now(message: Message) -> Message:
    """Count a message anew if an earlier count missed some content; return other messages unchanged."""
    if is_plain(message) or not pieces_of(message.body).widened:
        return message
    return recounted(message)


def recounted_after(before: Message, after: Message) -> Message:
    """Count a message anew after a change, counting only the removed and added texts."""
    before = measured(before)
    old, new = pieces_of(before.body), pieces_of(after.body)
    gone, came = Counter(old.texts) - Counter(new.texts), Counter(new.texts) - Counter(old.texts)
    fixed = fixed_tokens(new, canonical_media_tokens) - fixed_tokens(old, canonical_media_tokens)
    sums = [
        sum(count_text(text, encoding) * times for text, times in came.items())
        - sum(count_text(text, encoding) * times for text, times in gone.items())
        for encoding in (EncodingName.O200K, EncodingName.WIDE)
    ]
    tokens, wide = before.tokens + fixed + sums[0], (before.tokens_wide or 0) + fixed + sums[1]
    return replace(after, tokens=max(tokens, 0), tokens_wide=max(wide, 0))


def _media_extra(message: Message, model: str) -> int:
    """Return the model's bill for a message's media beyond the stored count, >= 0."""
    if '"type"' not in message.raw or not _MEDIA.search(message.raw):
        return 0
    return max(0, media_correction(message.body, model))


def _all_calls(message: Message) -> int:
    """Count a message's calls, including calls with an answer in the same message."""
    return pieces_of(message.body).calls if '_tool_use"' in message.raw else len(message.call_ids)


def fixed_tokens(pieces: Pieces, bill: Callable[[Media], int]) -> int:
    """Count everything around the texts of a message, media billed by a rule."""
    return wrapping_tokens(pieces) + pieces.opaque_tokens + sum(map(bill, pieces.media))


def count_chars(texts: Counter[str]) -> int:
    """Count the characters of texts."""
    return sum(len(text) * times for text, times in texts.items())
