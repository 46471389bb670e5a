"""Limits on number and size of pictures: the oldest become notes, a new message's only without content."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from context.certificate import Exclusion
from context.shape.rule_names import Fitting, ShapeRule
from context.shape.target import RequestLimits
from context.tokens.media import Media, MediaKind
from context.tokens.pieces import media_of
from context.types import JsonObject, Message
from context.wire.formats import format_of
from context.wire.neutral import LossKind, dump, member

_SIGNS = ("image", "file", "document", "video", "audio")
_DATA_TYPE = re.compile(r"data:(image/[\w.+-]+)[;,]", re.ASCII | re.IGNORECASE)
_MARGIN_BYTES = 500_000
"""Room for the parts beside the messages: tools, the system prompt, the request's own fields."""


@dataclass(frozen=True)
class Picture:
    """An embedded or referenced file in a message.

    Attributes:
        index: The message's place in the window.
        place: The file's number within the message.
        media: Facts about the file.
        chars: Characters of the file's text.
        type: Media type of an embedded file; empty if unknown.
        is_missing: True without content, address or id; every provider refuses such a part.
        is_new: True if brought by the request.
    """

    index: int
    place: int
    media: Media
    chars: int
    type: str
    is_missing: bool
    is_new: bool

    @property
    def is_image(self) -> bool:
        """True if limits of images apply."""
        return self.media.kind is MediaKind.IMAGE

    def is_wider(self, side: int | None) -> bool:
        """Tell whether the longer side exceeds a number of pixels."""
        return side is not None and max(self.media.width or 0, self.media.height or 0) > side


@dataclass(frozen=True)
class Limited:
    """A window within the target's picture limits, and the exclusions made."""

    messages: Sequence[Message]
    excluded: tuple[Exclusion, ...] = ()
    rules: frozenset[ShapeRule] = frozenset()


def limit_pictures(
    messages: Sequence[Message], limits: RequestLimits, recount: Callable[[Message], Message]
) -> Limited:
    """Keep a window within the target's limits on images and bytes.

    Args:
        messages: The window in order, in any formats; new messages have the `seq` 0.
        limits: The target's limits.
        recount: Counts a message anew.

    Returns:
        The window, each removed picture replaced by a note.
    """
    pictures = list(_find(messages))
    if not pictures:
        return Limited(messages)
    gone = _choose(pictures, limits, sum(map(_size, messages)) + _MARGIN_BYTES)
    if not gone:
        return Limited(messages)
    by_message: dict[int, dict[int, ShapeRule]] = {}
    for picture, rule in gone.items():
        by_message.setdefault(picture.index, {})[picture.place] = rule
    kept = list(messages)
    excluded = []
    for index, places in by_message.items():
        kept[index] = recount(_with_notes(messages[index], places))
        saved = max(messages[index].tokens - kept[index].tokens, 0)
        why = next(iter(places.values()))
        of = f"message {messages[index].seq}" if messages[index].seq else "the new message"
        excluded.append(Exclusion(f"{_name(len(places))} of {of}", why, saved))
    return Limited(kept, tuple(excluded), frozenset(gone.values()))


def _name(number: int) -> str:
    return "image" if number == 1 else f"{number} images"


def may_hold_media(message: Message) -> bool:
    """Tell from the raw text whether a message may contain a file."""
    raw = message.raw
    return '"type"' in raw and any(sign in raw for sign in _SIGNS)


def pictures_of(body: JsonObject) -> list[tuple[Media, int, str, bool]]:
    """List a message's replaceable files.

    Returns:
        Facts about each file, its number of characters, an image's media type, and whether it is missing.
    """
    return [
        (media, _chars(part), _type(part), not _holds_file(part))
        for part in _media_parts(body)
        if (media := media_of(part))
    ]


_ABOUT_FILE = frozenset(
    {"type", "detail", "format", "media_type", "mime_type", "filename", "title", "name", "context"}
    | {"cache_control", "citations"}
)


def _holds_file(part: object) -> bool:
    """Tell whether a part holds a file's content, address or id beside words about the file."""
    if isinstance(part, dict):
        return any(_holds_file(inner) for key, inner in part.items() if key not in _ABOUT_FILE)
    if isinstance(part, list):
        return any(map(_holds_file, part))
    return isinstance(part, str) and bool(part.strip())


def _type(part: JsonObject) -> str:
    inner = part.get("image_url", part.get("source"))
    if isinstance(inner, dict) and isinstance(inner.get("media_type"), str):
        return str(inner["media_type"]).lower()
    address = inner.get("url") if isinstance(inner, dict) else inner
    found = _DATA_TYPE.match(address) if isinstance(address, str) else None
    return found[1].lower() if found else ""


def _chars(part: object) -> int:
    """Add up the text of a part."""
    if isinstance(part, dict):
        return sum(map(_chars, part.values()))
    return len(part) if isinstance(part, str) else 0


def _find(messages: Sequence[Message]) -> Iterator[Picture]:
    for index, message in enumerate(messages):
        if may_hold_media(message):
            for place, found in enumerate(pictures_of(message.body)):
                yield Picture(index, place, *found, is_new=message.seq == 0)


def _size(message: Message) -> int:
    """Measure a message in bytes."""
    return len(message.raw) if message.raw.isascii() else len(message.raw.encode("utf-8", "surrogatepass"))


def _choose(pictures: Sequence[Picture], limits: RequestLimits, size: int) -> dict[Picture, ShapeRule]:
    """Choose the pictures to remove, oldest first, a limit at a time."""
    gone = {picture: ShapeRule.EMPTY_CONTENT for picture in pictures if picture.is_missing}
    old = [picture for picture in pictures if not picture.is_new and picture not in gone]
    for picture in old:
        if (
            picture.is_image
            and limits.types is not None
            and picture.type
            and picture.type not in limits.types
        ):
            gone[picture] = ShapeRule.IMAGE_TYPE
            continue
        is_long = limits.image_chars is not None and picture.chars > limits.image_chars + 200
        if picture.is_image and (is_long or picture.is_wider(limits.side)):
            gone[picture] = ShapeRule.IMAGE_SIZE
    images = [picture for picture in pictures if picture.is_image and picture not in gone]
    if limits.images is not None:
        gone.update(dict.fromkeys(_oldest(images, len(images) - limits.images), ShapeRule.IMAGE_NUMBER))
    images = [picture for picture in images if picture not in gone]
    if limits.many is not None and len(images) > limits.many:
        wide = [picture for picture in images if picture.is_wider(limits.many_side)]
        extra = len(images) - limits.many
        if any(picture.is_new for picture in wide):
            gone.update(dict.fromkeys(_oldest(images, extra), ShapeRule.IMAGE_NUMBER))
        else:
            # Either no wide one is left, or no more images than may be wide.
            gone.update(dict.fromkeys(wide[:extra], ShapeRule.IMAGE_SIZE))
    size -= sum(picture.chars for picture in gone)
    for picture in old:
        if limits.request_bytes is None or size <= limits.request_bytes:
            break
        if picture not in gone and picture.chars > _SMALL_CHARS:
            gone[picture] = ShapeRule.REQUEST_BYTES
            size -= picture.chars
    return gone


_SMALL_CHARS = 1_000
"""Characters of a short part (an address): a note in its place would save no space."""


def _oldest(images: Sequence[Picture], number: int) -> list[Picture]:
    return [picture for picture in images if not picture.is_new][: max(number, 0)]


def _with_notes(message: Message, places: dict[int, ShapeRule]) -> Message:
    seen = iter(range(len(pictures_of(message.body))))

    def change(part: JsonObject) -> JsonObject:
        if (media := media_of(part)) is None or next(seen) not in places:
            return part
        kind = format_of(message.wire).user_text
        return {"type": kind, "text": note(media)}

    return replace(message, raw=dump(_mapped(message.body, change)))


def with_result_notes(message: Message) -> tuple[JsonObject, int]:
    """Put notes in place of files in a message's results; return the body and the characters left out."""
    form, left_out = format_of(message.wire), 0

    def change(part: JsonObject) -> JsonObject:
        nonlocal left_out
        if (media := media_of(part)) is None:
            return part
        left_out += _chars(part)
        return {"type": form.user_text, "text": note(media)}

    body = message.body
    if form.result_key is not None:
        return _mapped(body, change), left_out
    blocks = body.get("content")
    kept = [
        _part(block, change) if str(member(block, "type")).endswith("tool_result") else block
        for block in (blocks if isinstance(blocks, list) else ())
    ]
    return {**body, "content": kept or blocks}, left_out


def note(media: Media) -> str:
    """Write a note in place of a picture, with its size."""
    size = f": {media.width}x{media.height} pixels" if media.width and media.height else ""
    return f"[{media.kind} not shown any more{size}]"


def note_of(part: JsonObject, fit: Fitting) -> JsonObject:
    """Return a note for a file part refused by the target; other parts unchanged."""
    media = media_of(part)
    if media is None:
        return part
    fit.apply(ShapeRule.PART_KIND, LossKind.MEDIA, f"the {media.kind} became a note")
    kind = fit.target.form.model_text
    return {"type": kind, "text": note(media)}


def _media_parts(body: JsonObject) -> list[JsonObject]:
    found: list[JsonObject] = []

    def take(part: JsonObject) -> JsonObject:
        found.append(part)
        return part

    _mapped(body, take)
    return found


def _mapped(body: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """Rewrite a message with each content part changed, including parts inside a tool's results."""
    for place in ("content", "output"):
        inner = body.get(place)
        if isinstance(inner, list):
            body = {**body, place: [_part(each, change) for each in inner]}
        elif isinstance(inner, dict) and inner.get("type") == "computer_screenshot":
            body = {**body, place: change(inner)}
    return body


def _part(part: object, change: Callable[[JsonObject], JsonObject]) -> object:
    if not isinstance(part, dict):
        return part
    if str(part.get("type")).endswith("tool_result"):
        return _mapped(part, change)
    return change(part)
