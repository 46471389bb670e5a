"""Token count of a message: once at intake, in the canonical and the wide encoding."""

from context.tokens.count import CALL_OVERHEAD, MESSAGE_OVERHEAD, RESULT_OVERHEAD, Count
from context.tokens.pieces import Pieces, pieces_of
from context.tokens.ranks import EncodingName
from context.tokens.rates import canonical_media_tokens, media_tokens
from context.tokens.text import count_text
from context.types import JsonObject, Wire


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
