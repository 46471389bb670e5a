"""Count the tokens of messages in each format; counts are added up, completed and corrected."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from context.tokens.media import Media, canonical_media_tokens, media_tokens
from context.tokens.pieces import Pieces, pieces_of
from context.tokens.text import EncodingName, count_text
from context.tokens.tools import TOOLS_OVERHEAD, render_tools
from context.types import JsonObject, Message, Wire, once_a_message

MESSAGE_OVERHEAD = 4
"""Canonical tokens around every message: the role and the delimiters."""

CALL_OVERHEAD = 6
"""Tokens around a tool call, without name and arguments; ids are not billed."""

RESULT_OVERHEAD = 7
"""Tokens around a tool result, without its text."""

REPLY_OVERHEAD = 3
"""Tokens at the start of the reply, once a request."""


@dataclass(frozen=True)
class Count:
    """Size of a message, or of several messages.

    Attributes:
        tokens: Canonical count: o200k_base tokens, media by rule, wrapping.
        wide: Count in the wide encoding; None if only the canonical count is known.
        messages: Number of messages.
        calls: Number of tool calls.
    """

    tokens: int
    wide: int | None = None
    messages: int = 0
    calls: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Add two counts; the wide count is known only if both are known."""
        wide = None if self.wide is None or other.wide is None else self.wide + other.wide
        return Count(
            self.tokens + other.tokens, wide, self.messages + other.messages, self.calls + other.calls
        )


EMPTY = Count(tokens=0, wide=0)


def total(counts: Iterable[Count]) -> Count:
    """Add counts.

    Args:
        counts: Any number of counts.

    Returns:
        The sum, `EMPTY` for none.
    """
    return sum(counts, EMPTY)


SYSTEM_SHARE = 3
"""Tokens shared between tool declarations and a system message: the wrapping is not billed twice."""

_OLDEST = "gpt-3.5-turbo-0301"


def encoding_of(model: str) -> EncodingName:
    """Name the encoding of an OpenAI model.

    Args:
        model: The model's name, with or without a host before it.

    Returns:
        cl100k_base for GPT-3.5 and the first GPT-4 models, o200k_base for all later models.
    """
    name = model.lower().rpartition("/")[2]
    old = name == "gpt-4" or name.startswith(("gpt-3", "gpt-4-", "gpt-4_"))
    return EncodingName.CL100K if old else EncodingName.O200K


def count_openai_chat(messages: Sequence[JsonObject], model: str, tools: Sequence[JsonObject] = ()) -> int:
    """Count a plain chat request exactly as billed by OpenAI.

    Args:
        messages: Messages with text values only: role, content, name.
        model: The model's name.
        tools: Tool definitions; with tools the count is close, not exact.

    Returns:
        Prompt tokens.
    """
    encoding = encoding_of(model)
    around, named = (4, -1) if model == _OLDEST else (3, 1)
    total = REPLY_OVERHEAD
    for message in messages:
        total += around + (named if message.get("name") else 0)
        total += sum(count_text(value, encoding) for value in message.values() if isinstance(value, str))
    if not tools:
        return total
    shared = SYSTEM_SHARE if any(message.get("role") == "system" for message in messages) else 0
    return total + count_text(render_tools(list(tools)), encoding) + TOOLS_OVERHEAD - shared


def count_message(body: JsonObject, wire: Wire = Wire.OPENAI) -> int:
    """Count a message in the canonical count: o200k_base tokens of its texts, media by rule, wrapping.

    A data URL is an image, a recording or a document only in a part of such a type; in a text the URL is
    text, as billed by providers. Addresses are never opened. Parts of unknown shape count as their JSON text.

    Args:
        body: The decoded message or Responses item, of any shape.
        wire: The format of the message.

    Returns:
        Tokens, >= `MESSAGE_OVERHEAD`; without `REPLY_OVERHEAD`, to be added once a request.
    """
    return measure_message(body, wire).tokens


def measure_message(body: JsonObject, wire: Wire = Wire.OPENAI, *, model: str | None = None) -> Count:
    """Count a message in both stored counts.

    Args:
        body: The decoded message or Responses item, of any shape.
        wire: The format of the message.
        model: Bill media by the rule of the given model; None for the canonical rule of stored counts.

    Returns:
        The count, to store as `tokens` and `tokens_wide`.
    """
    del (
        wire
    )  # the shapes of the three formats do not collide, and messages say less about theirs than they should
    pieces = pieces_of(body)
    fixed = wrapping_tokens(pieces) + pieces.opaque_tokens
    fixed += sum(
        media_tokens(media, model) if model else canonical_media_tokens(media) for media in pieces.media
    )
    return Count(
        tokens=fixed + sum(map(count_text, pieces.texts)),
        wide=fixed + sum(count_text(text, EncodingName.WIDE) for text in pieces.texts),
        messages=1,
        calls=pieces.calls,
    )


def media_correction(body: JsonObject, model: str) -> int:
    """Compute the difference between a model's media cost and the stored count's media cost.

    Args:
        body: The decoded message or Responses item.
        model: The model's name.

    Returns:
        Tokens to add to the stored count, 0 without media, negative if the model bills less.
    """
    return sum(media_tokens(media, model) - canonical_media_tokens(media) for media in pieces_of(body).media)


def wrapping_tokens(pieces: Pieces) -> int:
    """Count the tokens around a message's texts and media: role, delimiters, name, calls and results."""
    calls, results = CALL_OVERHEAD * pieces.calls, RESULT_OVERHEAD * pieces.results
    return MESSAGE_OVERHEAD + pieces.named + calls + results


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
        own_tokens, own_wide, own_calls, has_media = _costs(message)
        extra = _media_extra(message, model) if model and has_media else 0
        number += 1
        tokens += own_tokens + extra
        wide += own_wide + extra
        calls += own_calls
    return Count(tokens, wide, number, calls)


@once_a_message
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


@once_a_message
def _media_extra(message: Message, model: str) -> int:
    """Return the model's bill for a message's media beyond the stored count, >= 0."""
    return max(0, media_correction(message.body, model))


@once_a_message
def _costs(message: Message) -> tuple[int, int, int, bool]:
    """Return both counts of a message, all its calls, even answered ones, and whether it may hold media."""
    raw, both = message.raw, measured(message)
    calls = pieces_of(message.body).calls if '_tool_use"' in raw else len(message.call_ids)
    return both.tokens, both.tokens_wide or 0, calls, '"type"' in raw and _MEDIA.search(raw) is not None


def fixed_tokens(pieces: Pieces, bill: Callable[[Media], int]) -> int:
    """Count everything around the texts of a message, media billed by a rule."""
    return wrapping_tokens(pieces) + pieces.opaque_tokens + sum(map(bill, pieces.media))


def count_chars(texts: Counter[str]) -> int:
    """Count the characters of texts."""
    return sum(len(text) * times for text, times in texts.items())
