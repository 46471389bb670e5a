"""Counting a message: once at intake, in the canonical count and in the wide one."""

from context.tokens.count import CALL_OVERHEAD, MESSAGE_OVERHEAD, RESULT_OVERHEAD, Count
from context.tokens.pieces import Pieces, pieces_of
from context.tokens.ranks import EncodingName
from context.tokens.rates import canonical_media_tokens, media_tokens
from context.tokens.text import count_text
from context.types import JsonObject, Wire


def count_message(body: JsonObject, wire: Wire = Wire.OPENAI) -> int:
    """Count a message in the canonical count: o200k_base tokens of its texts, media by rule, wrapping.

    A data URL is an image, a recording or a document only where a part says so; inside a text it is text, as
    providers bill it. Addresses are never opened. Parts of unknown shape count as their JSON text.

    Args:
        body: The decoded message or Responses item, of any shape.
        wire: The format in which it is written.

    Returns:
        Tokens, >= `MESSAGE_OVERHEAD`. `REPLY_OVERHEAD` is not in it: add it once a request.
    """
    return measure_message(body, wire).tokens


def measure_message(body: JsonObject, wire: Wire = Wire.OPENAI, *, model: str | None = None) -> Count:
    """Count a message in both stored counts.

    Args:
        body: The decoded message or Responses item, of any shape.
        wire: The format in which it is written.
        model: Bill media by this model's rule; without it, by the canonical rule that stored counts use.

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
    """Say how much a model bills for a message's media beyond what the stored count holds for them.

    Args:
        body: The decoded message or Responses item.
        model: The model's name.

    Returns:
        Tokens to add to the stored count, 0 without media, negative where the model bills less.
    """
    return sum(media_tokens(media, model) - canonical_media_tokens(media) for media in pieces_of(body).media)


def wrapping_tokens(pieces: Pieces) -> int:
    """Count what is around a message's texts and media: role and ends, name, calls and results."""
    calls, results = CALL_OVERHEAD * pieces.calls, RESULT_OVERHEAD * pieces.results
    return MESSAGE_OVERHEAD + pieces.named + calls + results
