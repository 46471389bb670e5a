"""Outgoing messages: format, cost, and acceptance by a provider."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from context.certificate import Exclusion
from context.shape.check import ItemCheck, check_message, check_shape
from context.shape.fit import fit_body, fit_call_id, fit_message, looked_at
from context.shape.order import order_roles
from context.shape.pictures import limit_pictures
from context.shape.rule_names import Fitting, ShapeRule, few_marks
from context.shape.target import Target, target_of
from context.tokens import EMPTY, Count, EncodingName, count_text
from context.tokens.media import Media, canonical_media_tokens, media_tokens
from context.tokens.message import (
    count_chars,
    count_of,
    fixed_tokens,
    is_plain,
    measured,
    recounted,
    recounted_after,
)
from context.tokens.pieces import Pieces, pieces_of
from context.types import JsonObject, Message, Wire, once_a_message
from context.wire import ConvertedWindow, Loss, check_pairs, convert
from context.wire.formats import format_of
from context.wire.neutral import dump


@dataclass(frozen=True)
class Outgoing:
    """Messages in the outgoing format.

    Attributes:
        items: Each message or item as JSON text.
        system: The content of a separate system prompt; None for nothing.
        dropped: The content that could not be carried unchanged.
        count: Upper bound of the cost, in both stored counts; media as billed by the model.
        pairs_intact: True if a provider of the format accepts the order and the pairs of the items.
        rules: The names of applied rules of shape.
        faults: The remaining faults of shape, refused by the provider.
        excluded: Pictures replaced by a note.
    """

    items: tuple[str, ...]
    system: str | None
    dropped: tuple[Loss, ...]
    count: Count
    pairs_intact: bool
    rules: tuple[ShapeRule, ...] = ()
    faults: tuple[str, ...] = ()
    excluded: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class RefusedBefore:
    """Content refused by the session's provider before, not to be sent again.

    Attributes:
        unsigned_seq: Last stored message with refused reasoning, all earlier messages included; 0 for none.
        is_new: True if the reasoning of the request's own messages was refused too.
        most_images: Largest number of images not refused; None if no number was refused.
    """

    unsigned_seq: int = 0
    is_new: bool = False
    most_images: int | None = None

    def holds(self, message: Message) -> bool:
        """Say whether a message goes without its reasoning."""
        return 0 < message.seq <= self.unsigned_seq or (self.is_new and message.seq == 0)


NOTHING_REFUSED = RefusedBefore()


@dataclass(frozen=True)
class _Written:
    """Messages in the outgoing format, before roles are put in order."""

    items: Sequence[str]
    bodies: Sequence[JsonObject]
    count: Count
    system: str | None = None
    dropped: tuple[Loss, ...] = ()
    pairs_intact: bool = True
    checked: Sequence[ItemCheck] | None = None


class Sender:
    """Writer of messages for one model in one format, counting only content not yet counted."""

    def __init__(
        self, wire: Wire, model: str, *, has_system: bool = False, refused: RefusedBefore = NOTHING_REFUSED
    ) -> None:
        """Start with nothing counted.

        Args:
            wire: The outgoing format.
            model: The reading model.
            has_system: True if a system prompt precedes the messages.
            refused: Content not to be sent again.
        """
        self.wire = wire
        self.form = format_of(wire)
        self.model = model
        self.target = target_of(wire, model, refused.most_images)
        self.has_system = has_system
        self.refused = refused
        self._fits: dict[int, list[Fitting]] = {}
        self._shapings: dict[str, Fitting] = {}
        self._texts: dict[str, tuple[int, int]] = {}
        self._pieces: dict[str, Pieces] = {}

    def adopt(self, messages: Iterable[Message]) -> list[Message]:
        """Adapt messages one by one for the model; plain words are equal in all formats.

        Only necessary changes are made, and counted by the difference. Items accepted by nobody are left out.
        """
        return list(self._adopted(messages))

    def _adopted(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            if is_plain(message):
                yield message if message.wire is self.wire else replace(message, wire=self.wire)
                continue
            is_same, changed, fit = _fitted(message, self.target, self.refused.holds(message))
            if fit.applied:
                self._fits.setdefault(message.seq, []).append(fit)
            if is_same:
                yield message
            elif changed is not None:
                yield changed

    def count(self, messages: Sequence[Message]) -> Count:
        """Bound the cost of outgoing messages; exact if nothing is rewritten.

        Content that is left out is not counted, but at the end of the messages, which may go on elsewhere.
        """
        if all(message.wire is self.wire for message in messages):
            left_out, end = self.form.find_silent(messages), len(messages)
            while end - 1 in left_out:
                end -= 1
            kept = [m for place, m in enumerate(messages) if place >= end or place not in left_out]
            return self._count_stored(kept)
        return self._count_converted(self._convert(messages), messages)

    def send(self, messages: Sequence[Message]) -> Outgoing:
        """Write messages with whole pairs and answers behind their calls, as stored if sendable."""
        limited = limit_pictures(messages, self.target.limits, recounted)
        is_converted = self.form.merges_roles or any(m.wire is not self.wire for m in messages)
        written = self._converted(limited.messages) if is_converted else self._native(limited.messages)
        ordered = order_roles(written.items, self.target, has_system=self.has_system)
        items = few_marks(ordered.items)
        is_marked_less = items != list(ordered.items)
        is_as_written = not ordered.rules and not is_marked_less
        bodies = written.bodies if is_as_written else [json.loads(item) for item in items]
        checked = written.checked if is_as_written else None
        fits = [
            *self._fits_of(messages),
            *((0, self._shapings[i]) for i in written.items if i in self._shapings),
        ]
        rules = {*limited.rules, *ordered.rules, *(rule for _, fit in fits for rule in fit.applied)}
        rules |= {ShapeRule.CACHE_MARKS} if is_marked_less else set()
        losses = [Loss(seq, kind, why) for seq, fit in fits for kind, why in fit.losses]
        return Outgoing(
            tuple(items),
            written.system,
            (*losses, *written.dropped),
            written.count + ordered.added,
            pairs_intact=written.pairs_intact,
            rules=tuple(sorted(rules)),
            faults=tuple(check_shape(bodies, self.target, has_system=self.has_system, checked=checked)),
            excluded=limited.excluded,
        )

    def _fits_of(self, messages: Sequence[Message]) -> list[tuple[int, Fitting]]:
        """List the changes to the messages of a window, and to the messages between them."""
        stored = [message.seq for message in messages if message.seq]
        first = min(stored, default=0)
        return [
            (seq, fit)
            for seq, fits in self._fits.items()
            if seq == 0 or (stored and seq >= first)
            for fit in fits
        ]

    def _native(self, messages: Sequence[Message]) -> _Written:
        left_out = self.form.find_silent(messages)
        dropped = tuple(Loss(messages[place].seq, *self.form.silent_loss) for place in sorted(left_out))
        messages = [message for place, message in enumerate(messages) if place not in left_out]
        paired = self.form.pairs_by_facts(messages) or not check_pairs([m.body for m in messages], self.wire)
        return _Written(
            [message.raw for message in messages],
            [looked_at(message, self.target) for message in messages],
            self._count_stored(messages),
            dropped=dropped,
            pairs_intact=paired,
            checked=[check_message(message, self.target) for message in messages],
        )

    def _count_stored(self, messages: Iterable[Message]) -> Count:
        return count_of(messages, self.model)

    def _convert(self, messages: Sequence[Message]) -> ConvertedWindow:
        """Write messages in the outgoing format; rewritten messages are shaped like stored messages."""
        window = convert(
            messages,
            self.wire,
            keeps_system=self.target.takes_system_inside,
            fit_id=lambda call_id: fit_call_id(self.form.fit_id(call_id), self.target),
        )
        stored = frozenset(message.raw for message in messages if message.wire is self.wire)
        items = tuple(item if item in stored else self._shaped(item) for item in window.items)
        return replace(window, items=items)

    def _shaped(self, item: str) -> str:
        body: JsonObject = json.loads(item)
        fit = Fitting(self.target, is_stored=False, is_written_anew=True)
        fitted = fit_body(body, fit)
        text = item if fitted is body else dump(fitted)
        self._shapings[text] = fit
        return text

    def _converted(self, messages: Sequence[Message]) -> _Written:
        window = self._convert(messages)
        count = self._count_converted(window, messages)
        kept = self._kept(window, messages)
        bodies = [kept[item].body if item in kept else json.loads(item) for item in window.items]
        paired = not check_pairs(bodies, self.wire)
        return _Written(window.items, bodies, count, window.system, window.dropped, pairs_intact=paired)

    def _kept(self, window: ConvertedWindow, messages: Sequence[Message]) -> dict[str, Message]:
        """Find the messages sent as stored, by their text."""
        sent = frozenset(window.items)
        return {m.raw: m for m in messages if m.wire is self.wire and m.raw in sent}

    def _count_converted(self, window: ConvertedWindow, messages: Sequence[Message]) -> Count:
        kept = self._kept(window, messages)
        fresh = [json.loads(item) for item in window.items if item not in kept]
        if window.system:
            fresh.append({"role": "system", "content": window.system})
        count = self._count_stored(kept[item] for item in window.items if item in kept)
        return count + self._count_fresh(fresh, [message for message in messages if message.raw not in kept])

    def _count_fresh(self, bodies: Sequence[JsonObject], sources: Iterable[Message]) -> Count:
        """Count rewritten messages from the counts of their sources, which share most texts."""
        if not bodies:
            return EMPTY
        pieces = [pieces_of(body) for body in bodies]
        fixed = sum(fixed_tokens(each, self._bill) for each in pieces)
        tokens, wide = self._count_words(Counter(text for each in pieces for text in each.texts), sources)
        return Count(tokens + fixed, wide + fixed, len(bodies), sum(each.calls for each in pieces))

    def _count_words(self, texts: Counter[str], sources: Iterable[Message]) -> tuple[int, int]:
        old = [(measured(message), self._pieces_of(message)) for message in sources]
        old_texts = Counter(text for _, each in old for text in each.texts)
        gone = old_texts - texts
        if count_chars(texts & old_texts) <= count_chars(gone):
            return self._count_texts(texts)
        around = sum(fixed_tokens(each, canonical_media_tokens) for _, each in old)
        less, more = self._count_texts(gone), self._count_texts(texts - old_texts)
        tokens = sum(message.tokens for message, _ in old) - around - less[0]
        wide = sum(message.tokens_wide or 0 for message, _ in old) - around - less[1]
        return max(tokens, 0) + more[0], max(wide, 0) + more[1]

    def _pieces_of(self, message: Message) -> Pieces:
        """Split a message into pieces once, for its turn and for the window."""
        pieces = self._pieces.get(message.raw)
        if pieces is None:
            pieces = self._pieces[message.raw] = pieces_of(message.body)
        return pieces

    def _bill(self, media: Media) -> int:
        return max(canonical_media_tokens(media), media_tokens(media, self.model))

    def _count_texts(self, texts: Counter[str]) -> tuple[int, int]:
        tokens = wide = 0
        for text, times in texts.items():
            if text not in self._texts:
                self._texts[text] = count_text(text), count_text(text, EncodingName.WIDE)
            found = self._texts[text]
            tokens, wide = tokens + found[0] * times, wide + found[1] * times
        return tokens, wide


@once_a_message
def _fitted(message: Message, target: Target, is_refused: bool) -> tuple[bool, Message | None, Fitting]:
    """Shape a message, and count it by the difference.

    Returns:
        Whether it stays as it is, the changed message, and the record of the changes; no message if unchanged
        or without content.
    """
    is_foreign = not target.made(message.model)
    fit = Fitting(target, is_stored=message.seq != 0, is_foreign=is_foreign, is_refused=is_refused)
    fitted = fit_message(message, fit)
    if fitted is None or fitted is message:
        return fitted is message, None, fit
    return False, recounted_after(message, fitted), fit
